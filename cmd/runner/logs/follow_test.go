package logs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// following is a follower with the channels that drive it, so that a test decides what happens when.
type following struct {
	t       *testing.T
	logs    string // the directory of the logs
	out     bytes.Buffer
	err     bytes.Buffer
	now     time.Time
	commits chan state.Commit
	ended   chan error
	tick    chan time.Time
	done    chan error
}

// follow starts a follower of everything that begins. change changes its printer first.
func follow(t *testing.T, change func(*printer)) *following {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".runner")
	store, err := checkpoint.OpenStore(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &following{
		t: t, logs: store.Layout().LogsDir("PRD-001"), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		commits: make(chan state.Commit), ended: make(chan error), tick: make(chan time.Time), done: make(chan error, 1),
	}
	if err := os.MkdirAll(f.logs, 0o700); err != nil {
		t.Fatal(err)
	}
	p := &printer{
		env: &cli.Environment{Stderr: show.NewScreen(&f.err)}, store: store, prd: "PRD-001", raw: true, tail: all, following: true, names: 3,
		page: &headed{out: &f.out}, now: func() time.Time { return f.now },
	}
	change(p)
	follower := &follower{printer: p, wanted: func(step) bool { return true }, seen: map[string]bool{}}
	go func() {
		defer follower.close()
		f.done <- follower.run(f.commits, f.ended, f.tick)
	}()
	return f
}

// write adds text to a log.
func (f *following) write(name, text string) {
	f.t.Helper()
	log, err := os.OpenFile(filepath.Join(f.logs, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = log.WriteString(text)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		f.t.Fatal(err)
	}
}

// replace begins a log anew, as another session does.
func (f *following) replace(name, text string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.logs, name)); err != nil {
		f.t.Fatal(err)
	}
	f.write(name, text)
}

// happens has the follower receive events. It returns when the events before have been handled.
func (f *following) happens(events ...state.Event) { f.commits <- state.Commit{Events: events} }

// looks has the follower look at the logs, each time after a while, and waits until it has.
func (f *following) looks(after ...time.Duration) {
	for _, d := range after {
		f.now = f.now.Add(d)
		f.tick <- f.now
	}
	f.happens()
}

// end ends the run, and returns what was printed.
func (f *following) end() string {
	f.t.Helper()
	f.ended <- nil
	if err := <-f.done; err != nil {
		f.t.Fatal(err)
	}
	return f.out.String()
}

func TestFollow(t *testing.T) {
	t.Parallel()
	work := func(name string, attempt int) state.Event {
		return state.WorkstreamStarted{Workstream: name, Attempt: attempt}
	}
	for name, tt := range map[string]struct {
		change func(*printer)
		play   func(f *following)
		want   string
	}{
		"whole lines": {play: func(f *following) {
			f.happens(work("a", 1), work("b", 1))
			f.write("a.1.log", "one\ntw")
			f.write("b.1.log", "ONE\n")
			f.tick <- f.now
			f.tick <- f.now // the first one is over
			f.write("a.1.log", "o\n")
		}, want: "a   | one\nb   | ONE\na   | two\n"},
		"a line without an end": {play: func(f *following) {
			f.happens(work("a", 1))
			f.write("a.1.log", "one")
		}, want: "a   | one\n"},
		"a question": {play: func(f *following) {
			f.happens(work("a", 1), work("b", 1))
			f.write("a.1.log", "one\nOverwrite? [y/N] ")
			f.write("b.1.log", "going\r")
			f.looks(0, time.Second)
			f.write("b.1.log", "on")
			f.looks(time.Second, time.Second)
			f.write("a.1.log", "yes\ntwo\n")
			f.looks(time.Second)
			f.write("b.1.log", "\n")
		}, want: "a   | one\na   | Overwrite? [y/N]  …\na   | yes\na   | two\nb   | going\ron …\n"},
		"a question that matches": {change: func(p *printer) { p.match = regexp.MustCompile("^O") }, play: func(f *following) {
			f.happens(work("a", 1))
			f.write("a.1.log", "Over")
			f.looks(0, 2*time.Second)
			f.write("a.1.log", "write?")
			f.looks(0, 2*time.Second)
			f.write("a.1.log", "no\nnone\nno")
			f.looks(0, 2*time.Second)
			f.write("a.1.log", "ne\n")
		}, want: "a   | Over …\na   | write? …\na   | no\n"},
		"a log that begins late": {play: func(f *following) {
			f.happens(work("a", 1))
			f.tick <- f.now
			f.tick <- f.now
			f.write("a.1.log", "one\n")
		}, want: "a   | one\n"},
		"the next attempt": {play: func(f *following) {
			f.happens(work("a", 1))
			f.write("a.1.log", "one\n")
			f.happens(state.WorkstreamAttemptFailed{Workstream: "a", Attempt: 1})
			f.happens(work("a", 2))
			f.write("a.2.log", "two\n")
		}, want: "a   | one\na (attempt 2) | two\n"},
		"another session": {play: func(f *following) {
			f.happens(work("a", 1))
			f.write("a.1.log", "one\n")
			f.happens(state.WorkstreamCompleted{Workstream: "a"})
			f.happens(work("a", 1)) // the one that was printed
			f.replace("a.1.log", "two\n")
			f.happens(state.SessionStarted{})
			f.happens(work("a", 1))
		}, want: "a   | one\na   | two\n"},
		"a gate and a service": {play: func(f *following) {
			f.happens(state.ServiceStarted{Service: "db", Attempt: 1}, state.GateStarted{Gate: "lint (a)", Attempt: 1})
			f.write("service.db.1.log", "up\n")
			f.write("a.lint.1.log", "linted\n")
			f.happens(state.GatePassed{Verdict: state.Verdict{Gate: "lint (a)"}})
		}, want: "lint (a) | linted\nservice.db | up\n"},
		"a hook": {play: func(f *following) {
			f.write("hook.failed.1.1.log", "told\n")
			f.happens(state.HookEnded{Event: "failed", Hook: 1})
		}, want: "hook.failed.1 | told\n"},
		"one that the user named": {change: func(p *printer) { p.named = true }, play: func(f *following) {
			f.happens(work("a", 1))
			f.write("a.1.log", "50%\r")
			f.tick <- f.now
			f.tick <- f.now
			f.write("a.1.log", "100%\n")
		}, want: "50%\r100%\n"},
		"matching": {change: func(p *printer) { p.match = regexp.MustCompile("^o") }, play: func(f *following) {
			f.happens(work("a", 1))
			f.write("a.1.log", "one\ntwo\n\x1b[31moh\x1b[m\n")
		}, want: "a   | one\na   | \x1b[31moh\x1b[m\n"},
		"timestamps": {change: func(p *printer) { p.timestamps = true }, play: func(f *following) {
			f.happens(work("a", 1))
			f.write("a.1.log", "one\n")
		}, want: "2026-01-02T03:04:05.000Z a   | one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := tt.change
			if change == nil {
				change = func(*printer) {}
			}
			f := follow(t, change)
			tt.play(f)
			if got := f.end(); got != tt.want {
				t.Errorf("printed %q, want %q", got, tt.want)
			}
		})
	}
}
