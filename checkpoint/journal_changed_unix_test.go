//go:build unix

package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// journalChanges returns the ways in which another process may change a journal while its
// owner writes to it.
func journalChanges(t *testing.T) map[string]func(path string) {
	t.Helper()
	return map[string]func(path string){
		"deleted": func(path string) { checkpointtest.Must(t, os.Remove(path)) },
		"made anew": func(path string) {
			data, err := os.ReadFile(path)
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, os.Rename(path, path+".old"))
			checkpointtest.Must(t, os.WriteFile(path, data, store.FilePerm))
		},
		"appended to": func(path string) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			checkpointtest.Must(t, err)
			_, err = f.WriteString("{}\n")
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, f.Close())
		},
		"cut": func(path string) {
			info, err := os.Stat(path)
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, os.Truncate(path, info.Size()-1))
		},
	}
}

// TestOwnerStopsWhenItsJournalIsChanged changes the journal before or during a commit.
// The owner must not acknowledge the commit, must write it to a rescue copy, and must not
// write to the changed journal if the change came first.
func TestOwnerStopsWhenItsJournalIsChanged(t *testing.T) {
	t.Parallel()
	for how, change := range journalChanges(t) {
		for _, meanwhile := range []bool{false, true} {
			name := how + " before a commit"
			if meanwhile {
				name = how + " during a commit"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				fsys := &seizing{FS: store.OS()}
				f := checkpointtest.On(t, fsys, filepath.Join(t.TempDir(), ".runner"))
				x := f.Run()
				acknowledged := x.Durable()
				path := filepath.Join(f.Dir, "PRD-009", "journal.jsonl")
				var before []byte
				do := func() {
					fsys.seize = nil
					change(path)
					before, _ = os.ReadFile(path)
				}
				if meanwhile {
					fsys.seize = do
				} else {
					do()
				}
				x.Add(state.PauseAsked{By: checkpointtest.By, Reason: "late"})
				commits, err := x.Drain(t.Context())
				var poisoned *checkpoint.PoisonedError
				if !errors.As(err, &poisoned) || !errors.Is(err, checkpoint.ErrJournalChanged) || len(commits) != 0 || x.Durable() != acknowledged {
					t.Fatalf("acknowledged %d commits: %v", len(commits), err)
				}
				if _, err := os.Stat(poisoned.Rescue); err != nil {
					t.Errorf("the rescue copy: %v", err)
				}
				if after, _ := os.ReadFile(path); !meanwhile && string(after) != string(before) {
					t.Error("the owner wrote to the changed journal")
				}
				if err := x.Close(); !errors.Is(err, checkpoint.ErrJournalChanged) {
					t.Errorf("close: %v", err)
				}
			})
		}
	}
}
