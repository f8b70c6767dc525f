package stream_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/stream"
)

// logs are the logs of a run that a test writes, and what a Reader read of them.
type logs struct {
	t      *testing.T
	dir    string
	reader *stream.Reader
	read   []stream.Line // without the name of the log
	from   string        // the log of the last one
	now    time.Time
}

func newLogs(t *testing.T) *logs {
	dir := t.TempDir()
	return &logs{t: t, dir: dir, reader: stream.New(dir), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (l *logs) emit(line stream.Line) {
	l.from, line.Log = line.Log, ""
	l.read = append(l.read, line)
}

// write adds to a log.
func (l *logs) write(name, text string) {
	l.t.Helper()
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := f.Close(); err != nil {
		l.t.Fatal(err)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// poll reads what is new after a while.
func (l *logs) poll(after time.Duration) {
	l.now = l.now.Add(after)
	l.reader.Poll(l.now, l.emit)
}

func (l *logs) apply(e state.Event) { l.reader.Apply(e, l.emit) }

// want compares the lines that were read since the last call.
func (l *logs) want(lines ...stream.Line) {
	l.t.Helper()
	if diff := cmp.Diff(lines, l.read); diff != "" {
		l.t.Errorf("lines (-want +got):\n%s", diff)
	}
	l.read = nil
}

func TestLinesComeWhole(t *testing.T) {
	t.Parallel()
	l := newLogs(t)
	l.apply(state.WorkstreamStarted{Workstream: "a", Attempt: 2})
	l.poll(0)
	l.want() // there is no log yet
	l.write("a.2.log", "one\ntw")
	l.poll(0)
	l.want(stream.Line{Step: "a", Attempt: 2, Text: "one"})
	l.write("a.2.log", "o\r\n\nrest")
	l.poll(0)
	l.want(stream.Line{Step: "a", Attempt: 2, Text: "two"}, stream.Line{Step: "a", Attempt: 2})
	l.write("a.2.log", " of it")
	l.apply(state.WorkstreamFailed{Workstream: "a"})
	l.want(stream.Line{Step: "a", Attempt: 2, Text: "rest of it"})
	l.write("a.2.log", "too late\n")
	l.poll(0)
	l.reader.Close(l.emit)
	l.want()
}

func TestEachKindOfStep(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		begins state.Event
		log    string
		step   string
		ends   []state.Event
	}{
		{
			"an instance", state.WorkstreamStarted{Workstream: `service["a/b"]`, Attempt: 1}, "service%5B%22a%2Fb%22%5D.1.log", `service["a/b"]`,
			[]state.Event{
				state.WorkstreamAttemptFailed{Workstream: `service["a/b"]`}, state.WorkstreamSucceeded{Workstream: `service["a/b"]`},
				state.WorkstreamCompleted{Workstream: `service["a/b"]`}, state.WorkstreamFailed{Workstream: `service["a/b"]`},
				state.WorkstreamInterrupted{Workstream: `service["a/b"]`}, state.WorkstreamUncertain{Workstream: `service["a/b"]`},
			},
		},
		{
			"a gate", state.GateStarted{Gate: "lint (a)", Attempt: 1}, "a.lint.1.log", "lint (a)",
			[]state.Event{state.GatePassed{Verdict: state.Verdict{Gate: "lint (a)"}}, state.GateFailed{Verdict: state.Verdict{Gate: "lint (a)"}}},
		},
		{
			"the review", state.ReviewStarted{Attempt: 1, Run: 3}, "pipeline.review.run.3.log", "review",
			[]state.Event{state.ReviewJudged{}, state.ReviewFailed{}, state.ReviewInterrupted{}},
		},
		{
			"a service", state.ServiceStarted{Service: "db", Attempt: 1}, "service.db.1.log", "service.db",
			[]state.Event{state.ServiceEnded{Service: "db"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, end := range test.ends {
				l := newLogs(t)
				l.apply(test.begins)
				l.write(test.log, "a line")
				l.apply(state.WorkstreamCompleted{Workstream: "another"})
				l.want()
				l.apply(end)
				if len(l.read) != 1 || l.read[0].Step != test.step || l.read[0].Text != "a line" || l.from != test.log {
					t.Errorf("at %s: %+v from %s", end.Kind(), l.read, l.from)
				}
			}
		})
	}
}

// TestALineThatIsNotEndedForLong holds that a question without an end of the line is seen while
// the step waits, and that its line ends with what follows.
func TestALineThatIsNotEndedForLong(t *testing.T) {
	t.Parallel()
	l := newLogs(t)
	l.apply(state.WorkstreamStarted{Workstream: "a", Attempt: 1})
	line := func(text string, goesOn bool) stream.Line {
		return stream.Line{Step: "a", Attempt: 1, Text: text, GoesOn: goesOn}
	}
	quiet := func() {
		t.Helper()
		had := len(l.read)
		for range 100 { // however often one looks
			l.poll(10 * time.Millisecond)
		}
		if lines := l.read[had:]; slices.ContainsFunc(lines, func(line stream.Line) bool { return line.GoesOn }) {
			t.Errorf("after one second: %+v", lines)
		}
		l.poll(1100 * time.Millisecond)
	}
	l.write("a.1.log", "Proceed? ")
	l.poll(0)
	l.want()
	quiet()
	l.want(line("Proceed? ", true))
	l.write("a.1.log", "yes\nAgain? ")
	quiet()
	l.want(line("yes", false), line("Again? ", true))
	l.write("a.1.log", "\n...")
	quiet()
	l.want(line("", false), line("...", true))
	l.apply(state.WorkstreamFailed{Workstream: "a"})
	l.want(line("", false))
}

// TestALongLineIsDivided holds that a line without an end is neither kept back nor lost.
func TestALongLineIsDivided(t *testing.T) {
	t.Parallel()
	l := newLogs(t)
	l.apply(state.WorkstreamStarted{Workstream: "a", Attempt: 1})
	text := strings.Repeat("0123456789abcdef", 20_000)
	l.write("a.1.log", text)
	l.poll(0)
	if len(l.read) < 2 || !l.read[0].GoesOn {
		t.Errorf("%d lines before the end of the line", len(l.read))
	}
	l.reader.Close(l.emit)
	var all strings.Builder
	for _, line := range l.read {
		if len(line.Text) > 128<<10 {
			t.Errorf("a line of %d bytes", len(line.Text))
		}
		all.WriteString(line.Text)
	}
	if all.String() != text {
		t.Errorf("read %d bytes of %d", all.Len(), len(text))
	}
}

// TestAFloodDoesNotHoldUpPoll holds that Poll ends although there is more to read.
func TestAFloodDoesNotHoldUpPoll(t *testing.T) {
	t.Parallel()
	l := newLogs(t)
	l.apply(state.WorkstreamStarted{Workstream: "a", Attempt: 1})
	l.write("a.1.log", strings.Repeat("a line\n", 1<<20))
	l.poll(0)
	if n := len(l.read); n == 0 || n == 1<<20 {
		t.Errorf("one call read %d lines", n)
	}
	l.apply(state.WorkstreamCompleted{Workstream: "a"})
	if n := len(l.read); n != 1<<20 {
		t.Errorf("%d lines at the end", n)
	}
}

// TestTheRestIsBounded holds that the end of an attempt does not wait for all of a huge log, and says so.
func TestTheRestIsBounded(t *testing.T) {
	t.Parallel()
	l := newLogs(t)
	l.apply(state.WorkstreamStarted{Workstream: "a", Attempt: 1})
	l.write("a.1.log", strings.Repeat(strings.Repeat("x", 60<<10)+"\n", 1200))
	l.apply(state.WorkstreamCompleted{Workstream: "a"})
	if n := len(l.read); n < 1000 || n > 1150 {
		t.Errorf("%d lines", n)
	}
	if last := l.read[len(l.read)-1].Text; last != "… more than is shown here; a.1.log has everything" || l.from != "" {
		t.Errorf("the last line: %.80q from %q", last, l.from)
	}
}
