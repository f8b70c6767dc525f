//go:build unix

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// Random histories of a pipeline whose instances follow from a result.

// fanOutSource is the pipeline. Its first phase finds out the elements, which a file lists.
const fanOutSource = `pipeline "PRD-001" {
  phase "p0" {
    workstream "split" {
      command = ["split"]
      inputs  = ["src/list"]
    }
  }
  phase "p1" {
    workstream "part" {
      for_each  = toset(compact(split(",", workstream.split.outputs.value)))
      command   = ["part", each.key]
      inputs    = ["src/${each.key}"]
      artifacts = ["out/${each.key}"]
      retry {
        attempts         = 2
        initial_interval = "1ns"
        jitter           = 0
      }
    }
    workstream "send" {
      for_each   = toset(compact(split(",", workstream.split.outputs.value)))
      command    = ["send", each.key]
      depends_on = [workstream.part[each.key]]
      effect     = "once"
    }
    workstream "sum" {
      command    = concat(["sum"], [for p in workstream.part : p.outputs.value])
      depends_on = [workstream.part, workstream.send]
      artifacts  = ["out/sum"]
    }
  }
  phase "p2" {
    workstream "check" {
      for_each = toset([for p in workstream.part : p.outputs.element])
      command  = ["check", each.key]
    }
  }
}
`

// elements are those that the list may have.
var elements = []string{"a", "b", "c", "d"} //nolint:gochecknoglobals // a constant, if lists could be

// fanOutHistory is the acts on the pipeline. It is plain data.
type fanOutHistory struct {
	Parallel int   `json:"parallel"`
	Acts     []act `json:"acts"`
}

func fanOutHistories() *rapid.Generator[fanOutHistory] {
	return rapid.Custom(func(t *rapid.T) fanOutHistory {
		h := fanOutHistory{Parallel: rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "parallel")}
		for range rapid.IntRange(2, 10).Draw(t, "acts") {
			h.Acts = append(h.Acts, drawFanOutAct(t))
		}
		return h
	})
}

func drawFanOutAct(t *rapid.T) act {
	a := act{Do: rapid.SampledFrom([]string{"build", "build", "build", "list", "list", "edit", "remove", "rollback"}).Draw(t, "do")}
	a.Pick = rapid.IntRange(0, 99).Draw(t, "pick")
	switch a.Do {
	case "list":
		a.Text = strings.Join(drawSome(t, "elements", elements, len(elements)), ",")
	case "edit":
		a.Text = fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "text"))
	case "build":
		a.KeepGoing = rapid.Bool().Draw(t, "keep going")
		a.Fresh = rapid.IntRange(0, 7).Draw(t, "fresh") == 0
		switch rapid.IntRange(0, 5).Draw(t, "disturbed by") {
		case 0:
			a.Kill = rapid.IntRange(1, 60).Draw(t, "kill")
		case 1:
			a.Interrupt = rapid.IntRange(1, 8).Draw(t, "interrupt")
		case 2:
			a.Dies = rapid.IntRange(1, 8).Draw(t, "dies")
		case 3:
			a.Fails = map[string]int{}
			for _, e := range drawSome(t, "failing", elements, 2) {
				a.Fails[fmt.Sprintf("part[%q]", e)] = rapid.IntRange(1, 2).Draw(t, "failures")
			}
		}
	}
	return a
}

// fanOutPlay is a history that is played. What a workstream must have seen follows from the
// files alone; done says what it saw when it was recorded as done.
type fanOutPlay struct {
	*stage
	seq   uint64
	id    string
	done  map[string]string            // by the name of the workstream
	sent  map[string]int               // how often a message was sent, by the name of the workstream
	since map[uint64]map[string]string // done after each commit
	told  []string
}

// TestFanOutHistories plays random histories of elements that come and go while builds are
// killed, interrupted, fail and are rolled back. No instance may run again for which nothing
// has changed, none may be taken for done that has changed, and no message may be sent twice.
func TestFanOutHistories(t *testing.T) {
	t.Parallel()
	below := t.TempDir()
	for i := range *modelHistories {
		h := fanOutHistories().Example(*modelSeed + i)
		if err := playFanOutIn(t, h, below); err != nil {
			t.Fatalf("seed %d: %v\nrepeat it with -model.seed=%d -model.histories=1", *modelSeed+i, err, *modelSeed+i)
		}
	}
}

func playFanOutIn(t *testing.T, h fanOutHistory, below string) (err error) {
	synctest.Test(t, func(*testing.T) { err = playFanOut(h, below) })
	return err
}

func playFanOut(h fanOutHistory, below string) (err error) {
	s, err := newStage(&history{Parallel: h.Parallel}, below)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p := &fanOutPlay{stage: s, done: map[string]string{}, sent: map[string]int{}, since: map[uint64]map[string]string{}}
	s.text, s.vars, s.perform = func() string { return fanOutSource }, nil, p.perform
	err = s.write("src/list", strings.Join(elements[:2], ","))
	for _, e := range elements {
		err = errors.Join(err, s.write("src/"+e, "1"))
	}
	last := act{Do: "build", KeepGoing: true}
	for i, a := range append(slices.Clip(h.Acts), last, last) {
		p.now = p.now.Add(time.Hour)
		p.told = append(p.told, fmt.Sprintf("-- %d: %s", i, a))
		if err = errors.Join(err, p.play(a)); err != nil {
			return fmt.Errorf("act %d, %s: %w\n%s", i, a.Do, err, strings.Join(p.told, "\n"))
		}
	}
	return p.whole()
}

func (p *fanOutPlay) play(a act) error {
	switch a.Do {
	case "list":
		return p.write("src/list", a.Text)
	case "edit":
		return p.write("src/"+elements[a.Pick%len(elements)], a.Text)
	case "remove":
		err := os.Remove(filepath.Join(p.dir, "out", elements[a.Pick%len(elements)]))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	case "rollback":
		return p.rollback(a)
	}
	if err := p.resolve(); err != nil {
		return err
	}
	ending, err := p.build(a)
	if p.killed == nil && err != nil {
		return err
	}
	if err := p.follow(); err != nil {
		return err
	}
	if p.killed == nil && ending.Status == state.StatusComplete {
		return p.whole()
	}
	return nil
}

// resolve says of each message that may have been sent whether it was.
func (p *fanOutPlay) resolve() error {
	snap, err := p.store.Load("PRD-001")
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	var answers []state.Event
	for w := range snap.State.Records() {
		if w.Status == state.Uncertain {
			resolution := state.ResolvedRerun
			if p.sent[w.Name] > 0 {
				resolution = state.ResolvedDone
			}
			answers = append(answers, state.WorkstreamResolved{Workstream: w.Name, Resolution: resolution})
		}
	}
	if len(answers) == 0 {
		return nil
	}
	err = p.locked(func(x *checkpoint.Session) error {
		x.Add(answers...)
		return nil
	})
	return errors.Join(err, p.follow())
}

func (p *fanOutPlay) rollback(a act) error {
	snap, err := p.store.Load("PRD-001")
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	valid := slices.DeleteFunc(slices.Clone(snap.State.Checkpoints), func(ref *state.CheckpointRef) bool { return !ref.Valid })
	if len(valid) == 0 {
		return nil
	}
	to := valid[a.Pick%len(valid)]
	err = p.locked(func(x *checkpoint.Session) error {
		_, err := rollback.Run(context.Background(), x, p.files, rollback.Options{To: to.ID})
		return err
	})
	return errors.Join(err, p.follow())
}

// elements returns those that the list has now.
func (p *fanOutPlay) elements() []string {
	all := slices.DeleteFunc(strings.Split(p.tree()["src/list"], ","), func(e string) bool { return e == "" })
	slices.Sort(all)
	return all
}

// sees returns what a workstream finds if it runs now.
func (p *fanOutPlay) sees(name string) string {
	tree := p.tree()
	work, element, _ := strings.Cut(strings.TrimSuffix(name, `"]`), `["`)
	switch work {
	case "split":
		return tree["src/list"]
	case "part":
		return tree["src/"+element]
	case "send", "check":
		return element
	}
	var values []string
	for _, e := range p.elements() {
		values = append(values, p.value(fmt.Sprintf("part[%q]", e)))
	}
	return strings.Join(values, " ")
}

// value returns the output of a workstream.
func (p *fanOutPlay) value(name string) string {
	if name == "split" {
		return p.sees(name)
	}
	return name + " of " + p.sees(name)
}

// perform runs a workstream.
func (p *fanOutPlay) perform(task runner.Task, stop bool) deed {
	name := task.Env["RUNNER_WORKSTREAM"]
	d := deed{name: name, used: p.sees(name), cancelled: stop}
	if task.Command[0] == "sum" {
		d.used = strings.Join(task.Command[1:], " ")
	}
	fails := p.failed[name] < p.act.Fails[name]
	if fails {
		p.failed[name]++
	}
	if d.ok = !fails && !stop; !d.ok {
		d.code = 1
	}
	d.value = p.value(name)
	_, element, _ := strings.Cut(strings.TrimSuffix(name, `"]`), `["`)
	var err error
	switch task.Command[0] {
	case "send":
		p.sent[name]++
	case "part":
		err = p.write("out/"+element, d.value)
	case "sum":
		err = p.write("out/sum", d.used)
	}
	out := task.Env["RUNNER_OUTPUT"]
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(out), 0o700), os.WriteFile(out, []byte("value="+d.value+"\nelement="+element+"\n"), 0o600)); err != nil {
		panic(err)
	}
	return d
}

// follow applies the new events of the journal.
func (p *fanOutPlay) follow() error {
	commits, err := p.commits()
	if err != nil || len(commits) == 0 {
		return err
	}
	if e, ok := commits[0].Events[0].(state.SessionStarted); ok && e.Session != p.id {
		p.id, p.seq = e.Session, 0
	}
	for _, c := range commits {
		if c.Seq <= p.seq {
			continue
		}
		p.seq = c.Seq
		for _, e := range c.Events {
			if e.Kind() != state.KindCheckpointCreated {
				p.told = append(p.told, fmt.Sprintf("   %d %s", c.Seq, brief(e)))
			}
			if err := p.apply(e); err != nil {
				return err
			}
		}
		p.since[c.Seq] = maps.Clone(p.done)
	}
	return nil
}

func (p *fanOutPlay) apply(e state.Event) error {
	switch e := e.(type) {
	case state.SessionStarted:
		if e.From == nil {
			clear(p.done)
		}
	case state.RollbackCompleted:
		return p.wentBack()
	case state.WorkstreamInvalidated:
		if was, known := p.done[e.Workstream]; known && was == p.sees(e.Workstream) {
			return fmt.Errorf("%s was done with %q, and is invalidated, but nothing has changed", e.Workstream, was)
		}
		delete(p.done, e.Workstream)
	case state.WorkstreamStarted:
		d, ran := p.log[fmt.Sprintf("%s/%d", e.Workstream, e.Attempt)]
		if was, known := p.done[e.Workstream]; known && ran && was == d.used {
			return fmt.Errorf("%s was done with %q, and has run again with the same", e.Workstream, was)
		}
		delete(p.done, e.Workstream)
	case state.WorkstreamResolved:
		if e.Resolution == state.ResolvedDone {
			p.done[e.Workstream] = p.sees(e.Workstream)
		}
	case state.WorkstreamCompleted:
		if e.Work != nil {
			p.done[e.Workstream] = p.log[fmt.Sprintf("%s/%d", e.Workstream, e.Work.Attempt)].used
		}
	}
	return nil
}

// wentBack takes over what was done at the moment to which a rollback went.
func (p *fanOutPlay) wentBack() error {
	snap, err := p.store.Load("PRD-001")
	if err != nil {
		return err
	}
	last := snap.State.Rollbacks[len(snap.State.Rollbacks)-1]
	seq := last.StateSeq
	for _, ref := range snap.State.Checkpoints {
		if seq == 0 && ref.ID == last.To {
			seq = ref.Seq
		}
	}
	was, ok := p.since[seq]
	if !ok {
		return fmt.Errorf("a rollback went to commit %d, which is not known", seq)
	}
	p.done = maps.Clone(was)
	return nil
}

// whole checks a complete session: its instances are those of the list, each has seen what is
// there now, and their files and messages are there.
func (p *fanOutPlay) whole() error {
	snap, err := p.store.Load("PRD-001")
	if err != nil {
		return err
	}
	if snap.State.Status != state.StatusComplete {
		return fmt.Errorf("the session is %s", snap.State.Status)
	}
	want := []string{"split", "sum"}
	files := map[string]string{"out/sum": p.sees("sum")}
	for _, e := range p.elements() {
		part, send := fmt.Sprintf("part[%q]", e), fmt.Sprintf("send[%q]", e)
		want = append(want, part, send, fmt.Sprintf("check[%q]", e))
		files["out/"+e] = p.value(part)
		if p.sent[send] != 1 {
			err = errors.Join(err, fmt.Errorf("%s has sent %d messages", send, p.sent[send]))
		}
	}
	var names []string
	for _, phase := range snap.State.Phases {
		for _, w := range phase.Workstreams {
			names = append(names, w.Name)
		}
	}
	slices.Sort(names)
	if slices.Sort(want); !slices.Equal(names, want) {
		err = errors.Join(err, fmt.Errorf("the workstreams are %q, and must be %q", names, want))
	}
	tree := p.tree()
	for name, text := range files {
		if tree[name] != text {
			err = errors.Join(err, fmt.Errorf("%s is %q, and must be %q", name, tree[name], text))
		}
	}
	for _, name := range want {
		if done, ok := p.done[name]; !ok || done != p.sees(name) {
			err = errors.Join(err, fmt.Errorf("%s is done with %q (%t), and must have seen %q", name, done, ok, p.sees(name)))
		}
	}
	return err
}
