package record_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner/record"
)

// failing returns a part whose first attempts fail, and a count of its attempts.
func failing(failures int, err error) (record.Part, *int) {
	tries := 0
	return record.Part{Problem: "the part could not be written", Done: "written", Try: func() error {
		if tries++; tries <= failures {
			return err
		}
		return nil
	}}, &tries
}

func TestWriteTriesAgain(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	p, tries := failing(3, errors.New("busy"))
	if !r.Write(p) || *tries != 4 || len(r.asked) != 0 || r.Unwritten() {
		t.Errorf("%d attempts, asked %q", *tries, r.asked)
	}
	if want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}; !slices.Equal(r.waits, want) {
		t.Errorf("waited %v, want %v", r.waits, want)
	}
	if want := []string{"the part could not be written at first (busy), and was written when it was tried again"}; !slices.Equal(r.warnings, want) {
		t.Errorf("warned %q", r.warnings)
	}
}

func TestWritePauses(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	p, tries := failing(100, errors.New("busy"))
	if r.Write(p) || *tries != 4 || !r.Unwritten() || r.Skips() || len(r.paused) != 1 {
		t.Errorf("%d attempts, paused %v", *tries, r.paused)
	}
	if r.Write(p) || *tries != 5 || len(r.paused) != 1 || len(r.warnings) != 1 || len(r.asked) != 1 {
		t.Errorf("the second failure: %d attempts, paused %v, warned %q, asked %q", *tries, r.paused, r.warnings, r.asked)
	}
	if p, _ = failing(0, nil); !r.Write(p) {
		t.Error("a part that can be written is not")
	}
}

// TestWriteRetries: with Retry, the attempts continue, the user is warned once, and the
// waits stay below ten seconds.
func TestWriteRetries(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.decisions = []record.OnFailure{record.Retry}
	p, tries := failing(11, errors.New("busy"))
	if !r.Write(p) || *tries != 12 || r.Unwritten() {
		t.Errorf("%d attempts", *tries)
	}
	if want := "the part could not be written, and is tried again: busy"; len(r.warnings) != 2 || r.warnings[0] != want {
		t.Errorf("warned %q", r.warnings)
	}
	if longest := slices.Max(r.waits); longest != 10*time.Second {
		t.Errorf("waited up to %v", longest)
	}
	if len(r.asked) == 0 || r.asked[0] != "the part could not be written: busy" {
		t.Errorf("asked %q", r.asked)
	}
}

// TestWriteSkips: the first skip is recorded even if no checkpoint is skipped by it.
func TestWriteSkips(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.decisions = []record.OnFailure{record.Skip}
	p, _ := failing(100, errors.New("busy"))
	if r.Write(p) || !r.Unwritten() || !r.Skips() || len(r.paused) != 0 || len(r.shown) != 1 || len(r.warnings) != 1 {
		t.Errorf("paused %v, shown %v, warned %q", r.paused, r.shown, r.warnings)
	}
	if r.Write(p) || len(r.shown) != 1 || len(r.warnings) != 1 {
		t.Errorf("the second failure: shown %v, warned %q", r.shown, r.warnings)
	}
}

// TestWriteEndsEarly: a write is not tried again after a signal or without a writable
// journal.
func TestWriteEndsEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err           error
		broken, final bool
	}{
		"given up":     {err: fmt.Errorf("capture: %w", record.ErrGivenUp), final: true},
		"switched off": {err: checkpoint.ErrSwitchedOff, final: true},
		"poisoned":     {err: &checkpoint.PoisonedError{}, final: true, broken: true},
		"other":        {err: errors.New("busy")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecording(t)
			p, tries := failing(1, c.err)
			if err := r.WriteRequired(p); (*tries == 1) != c.final || (err != nil) != c.final || r.Final(c.err) != c.final || r.Err() != nil {
				t.Errorf("%d attempts: %v", *tries, err)
			}
			p, tries = failing(1, c.err)
			if r.Write(p) == c.final || (*tries == 1) != c.final || (r.Err() != nil) != c.broken {
				t.Errorf("%d attempts, %v", *tries, r.Err())
			}
			// An error that is final only in a later attempt ends the attempts, too.
			r = newRecording(t)
			n := 0
			r.Write(record.Part{Try: func() error {
				if n++; n == 1 {
					return errors.New("busy")
				}
				return c.err
			}})
			if c.final && n != 2 {
				t.Errorf("%d attempts", n)
			}
			if !errors.Is(c.err, checkpoint.ErrSwitchedOff) && c.final == r.Unwritten() {
				t.Errorf("unwritten: %t", r.Unwritten())
			}
		})
	}
}

func TestInterruptedWaitPauses(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.interrupted = true
	r.decisions = []record.OnFailure{record.Skip}
	p, tries := failing(100, errors.New("busy"))
	if r.Write(p) || *tries != 1 || r.Skips() || len(r.paused) != 1 {
		t.Errorf("%d attempts, skips: %t, paused %v", *tries, r.Skips(), r.paused)
	}
}

// TestWriteAllShowsAfterFiles: a commit is shown after its checkpoint file is written, and
// without the checkpoint if the file is not.
func TestWriteAllShowsAfterFiles(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	first, _ := r.x.Checkpoint(state.TriggerManual, "", nil)
	var waited bool
	r.start(0, func() { waited = len(r.shown) == 0 })
	r.WriteAll()
	if !slices.Equal(r.created, []string{first}) || !slices.Equal(r.shown, []uint64{2}) || !waited || !r.x.Written(first) {
		t.Errorf("shown %v with %q; before the functions: %t", r.shown, r.created, waited)
	}
	r.disk.full.Store(true)
	second, _ := r.x.Checkpoint(state.TriggerManual, "", nil)
	r.start(1, nil)
	r.WriteAll()
	if !slices.Equal(r.shown, []uint64{2, 3}) || slices.Contains(r.created, second) || len(r.paused) != 1 {
		t.Errorf("shown %v with %q, paused %v", r.shown, r.created, r.paused)
	}
	r.start(2, nil)
	r.Drain() // later commits are shown at once
	if !slices.Equal(r.shown, []uint64{2, 3, 4}) {
		t.Errorf("shown %v", r.shown)
	}
}

func TestWriteAllSkips(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.decisions = []record.OnFailure{record.Skip}
	r.disk.full.Store(true)
	id, _ := r.x.Checkpoint(state.TriggerManual, "", nil)
	r.WriteAll()
	if !slices.Equal(r.skipped, []string{id}) || len(r.created) > 0 || r.Err() != nil {
		t.Errorf("skipped %q, created %q, %v", r.skipped, r.created, r.Err())
	}
	again, _ := r.x.Checkpoint(state.TriggerManual, "", nil)
	r.WriteAll()
	if !slices.Equal(r.skipped, []string{id, again}) || len(r.warnings) != 1 {
		t.Errorf("skipped %q, warned %q", r.skipped, r.warnings)
	}
}

// TestWriteDocument: the document is not due when it was just written, and a commit
// makes it due once its interval has passed.
func TestWriteDocument(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.WriteAll()
	r.start(0, nil)
	r.Drain()
	if r.WriteDocument() {
		t.Error("it is written before its interval has passed")
	}
	r.now = r.now.Add(time.Minute)
	if !r.WriteDocument() {
		t.Error("it is not written")
	}
	r.now = r.now.Add(time.Minute)
	if r.WriteDocument() {
		t.Error("it is written again, although nothing has changed")
	}
}

func TestWithRemedy(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("capture: %w", &git.StateError{Remedy: "run git gc"})
	if got := record.WithRemedy(err); !strings.HasSuffix(got, " (run git gc)") {
		t.Error(got)
	}
	for _, err := range []error{&git.StateError{}, errors.New("busy")} {
		if got := record.WithRemedy(err); got != err.Error() {
			t.Error(got)
		}
	}
}
