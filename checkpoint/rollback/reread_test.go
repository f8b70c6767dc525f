package rollback

import (
	"context"
	"io/fs"
	"sync"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// interposed is a file system that calls act just before one of its operations.
type interposed struct {
	store.FS
	at    int // the number of that operation, from 1
	act   func()
	mu    sync.Mutex
	count int
}

func (i *interposed) step() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count++; i.count == i.at {
		i.act()
	}
}

func (i *interposed) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	i.step()
	return i.FS.OpenFile(name, flag, perm)
}

func (i *interposed) Lstat(name string) (fs.FileInfo, error) {
	i.step()
	return i.FS.Lstat(name)
}

func (i *interposed) ReadDir(name string) ([]fs.DirEntry, error) {
	i.step()
	return i.FS.ReadDir(name)
}

// TestPlanWhileAnOwnerWrites plans a rollback to the latest checkpoint. Just before each
// operation on the state directory in turn, an owner makes a checkpoint and deletes the
// one that was the latest until then. The plan must succeed, with a checkpoint of one of
// the two moments as its target.
func TestPlanWhileAnOwnerWrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for at := range faults.Moments() {
		p := checkpointtest.NewProject(t, store.NewMemory())
		p.Begin("S1")
		earlier := p.State().CurrentCheckpoint().ID
		var later string
		reads := &interposed{FS: p.FS, at: int(at), act: func() {
			s := p.Open()
			w := p.Workspace(s)
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			p.Save("later.txt", "later")
			later = p.Capture(x, w, state.TriggerManual)
			_, err := prune.Delete(ctx, x, prune.DeleteOptions{References: []string{earlier}, Force: true})
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, x.Close())
		}}
		reader := checkpointtest.On(t, reads, p.Dir).Open()
		plan, err := PlanTo(ctx, reader, p.Workspace(reader), "PRD-009", Options{To: "latest"})
		if err != nil {
			t.Fatalf("operation %d: %v", at, err)
		}
		if plan.Target.ID != earlier && plan.Target.ID != later {
			t.Fatalf("operation %d: the plan goes to %s", at, plan.Target.ID)
		}
		if reads.count < int(at) {
			t.Logf("%d operations", reads.count)
			return
		}
	}
}
