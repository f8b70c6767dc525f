package view

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// TestReadKeys: keys and sequences are recognised, also if a sequence comes in parts. Other text is ignored.
func TestReadKeys(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string][]key{
		"":                             nil,
		"pl?":                          {pauseKey, logKey, helpKey},
		"\x1b[A\x1bOBkj":               {upKey, downKey, upKey, downKey},
		"\n\r\x04 äx\x1b[5~":           nil,
		"\x1b[1;5Ap":                   {pauseKey},
		"\x1bp\x1bl\x1b?j":             {downKey},
		"\x1b[?62;4cl":                 {logKey},
		"\x1b]11;rgb:p\x1b\\k":         {upKey},
		"\x1b]11;?\ak":                 {upKey},
		"\x1bP>|kpl?\x1b\\j":           {downKey},
		"\x1bOpj":                      {downKey},
		"\x1b[12\x1b[A":                {upKey},
		"\x1b[200~pl?\x1b[A\x1b[201~j": {downKey},
		"\x1b\x1b[B":                   {downKey},
	} {
		if got, rest := readKeys(typed); !slices.Equal(got, want) || rest != "" {
			t.Errorf("%q is %v and %q, want %v", typed, got, rest, want)
		}
		var inParts []key
		rest := ""
		for _, b := range []byte(typed) {
			var keys []key
			keys, rest = readKeys(rest + string(b))
			inParts = append(inParts, keys...)
		}
		if !slices.Equal(inParts, want) {
			t.Errorf("%q in parts is %v, want %v", typed, inParts, want)
		}
	}
}

// fakeControl is a keyboard for tests. The view and the test use it in different goroutines.
type fakeControl struct {
	mu      sync.Mutex
	taken   bool
	typed   string
	stopped func()
}

func (c *fakeControl) Take() bool { c.set(true); return true }
func (c *fakeControl) Give()      { c.set(false) }

func (c *fakeControl) set(taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = taken
}

// isTaken reports whether the view has the keyboard.
func (c *fakeControl) isTaken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}

// types has the view read keys next, in place of what it has not read.
func (c *fakeControl) types(keys string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.typed = keys
}

func (c *fakeControl) Keys() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.typed = "" }()
	return []byte(c.typed)
}

// onStop calls f when the view stops the process.
func (c *fakeControl) onStop(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = f
}

func (c *fakeControl) Stop() {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	stopped()
}

func (c *fakeControl) Continued() bool { return false }

// TestKeys: keys select rows, show logs, ask for a pause and for help; a question has the keyboard and the screen
// for itself, and what others write meanwhile comes after it; a stop leaves both to the shell.
func TestKeys(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "lint.1.log"), []byte("first\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		out, control, pauses := &shown{}, &fakeControl{}, 0
		v := New(Auto, Options{Out: out, Logs: Logs{Dir: logs, Name: "logs"}, Size: func() (int, int) { return 120, 24 }, Control: control, Pause: func() { pauses++ }})
		settle := func() string {
			time.Sleep(2 * frameInterval)
			synctest.Wait()
			return out.take()
		}
		expect := func(what, got string, wants ...string) {
			t.Helper()
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("%s: no %q in %q", what, want, got)
				}
			}
		}
		typing := func(keys string) string {
			control.types(keys)
			return settle()
		}
		v.Begin(runner.Beginning{PRD: "PRD-009", Session: "s-1", Plan: monorepo(1)})
		v.Commit(state.Commit{Time: time.Now(), Events: append(started("fetch", "lint"), state.PhaseStarted{Phase: "build"})})
		settle()
		if !control.isTaken() {
			t.Error("the view does not take the keyboard")
		}
		expect("selected", typing("j"), "› ● fetch")
		expect("the next one", typing("j"), "› ● lint")
		expect("not beyond the last one", typing("jjj")+typing("l"), "lint\n", "log: logs/lint.1.log\n", "│ first\n", "│ last\n")
		v.Commit(state.Commit{Time: time.Now(), Events: []state.Event{state.WorkstreamCompleted{Workstream: "lint"}}})
		expect("the selected one has ended", settle(), "› ● fetch")
		expect("help", typing("?"), "  p: pause at the next boundary   ↑ ↓ or k j: select   l: log of the selected row   ?: hide this")
		typing("\x1b")
		expect("help is hidden after Esc, which is no part of a sequence", typing("")+typing("")+typing("")+typing("?"), eraseBelow)
		expect("help again", typing("?"), pauseHelp)
		if typing("pp"); pauses != 1 {
			t.Errorf("two quick presses are %d requests", pauses)
		}
		v.Commit(state.Commit{Time: time.Now(), Events: []state.Event{state.WorkstreamStarted{Workstream: "lint", Attempt: 2}}})
		if got := settle(); strings.Contains(got, pauseHelp) {
			t.Errorf("after the request, the help has the key for it: %q", got)
		}
		v.Commit(state.Commit{Time: time.Now(), Events: []state.Event{state.PauseAsked{By: state.Actor{User: "alice"}}}})
		expect("a pause", settle(), "! pause requested by alice", "pausing")
		if typing("p"); pauses != 1 {
			t.Errorf("%d pauses after one was requested", pauses)
		}

		giveBack := v.(Lender).Lend()
		out.take()
		if control.isTaken() {
			t.Error("the question does not get the keyboard")
		}
		if !v.(Lender).Defer([]byte("Warning: low\n")) {
			t.Error("text of others is on the screen with the question")
		}
		v.Warn("late")
		if got := typing("l"); got != "" {
			t.Errorf("while the question is open, the view shows %q", got)
		}
		control.types("")
		giveBack()
		expect("after the question", settle(), "Warning: low\n! late\n")
		if !control.isTaken() || v.(Lender).Defer([]byte("x")) {
			t.Error("after the question, the view has no keyboard, or keeps text of others")
		}

		before := ""
		control.onStop(func() {
			if before = out.take(); control.isTaken() {
				t.Error("the shell does not get the keyboard")
			}
		})
		got := typing("\x1a")
		if !strings.HasSuffix(before, eraseBelow+endFrame) {
			t.Errorf("before it is stopped, the view shows %q", before)
		}
		if !control.isTaken() || !strings.HasPrefix(got, beginFrame+"\r"+eraseRight) {
			t.Errorf("when it goes on, the view has the keyboard: %t, and shows %q", control.isTaken(), got)
		}
		v.End(runner.Ending{Status: state.StatusPaused})
		if v.Close(); control.isTaken() {
			t.Error("at the end, the view keeps the keyboard")
		}
	})
}
