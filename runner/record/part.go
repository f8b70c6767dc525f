package record

import (
	"errors"
	"fmt"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace/git"
)

// ErrGivenUp says that a signal cancelled the writing of a part. Runner writes the part
// when the session is resumed.
var ErrGivenUp = errors.New("given up, since a signal came")

// OnFailure decides what happens when a part of a checkpoint can't be written.
type OnFailure string

// The decisions about a part of a checkpoint that can't be written.
const (
	Pause OnFailure = "pause"
	Retry OnFailure = "retry"
	Skip  OnFailure = "skip"
)

const (
	// minTries is the minimum number of attempts to write a part.
	minTries = 4
	// firstWait is the time before the second attempt; it is doubled before each further
	// attempt, up to maxWait.
	firstWait = 100 * time.Millisecond
	maxWait   = 10 * time.Second
)

// Part is a part of a checkpoint that must be written.
type Part struct {
	Problem string       // describes the failure to write it
	Done    string       // the participle for a success: "written", "kept"
	Try     func() error // writes it; may be called again

	// giveUp makes the session stop trying to write the part. It returns the checkpoints
	// that are skipped, and those that stay on record without a file. nil: there is
	// nothing to give up.
	giveUp func() (skipped, left []string)
}

// message returns a text that says what could not be written, why, and what the user can
// do.
func (p Part) message(err error) string { return p.Problem + ": " + WithRemedy(err) }

// WithRemedy returns the text of an error, with a remedy for the user if one is known.
func WithRemedy(err error) string {
	var git *git.StateError
	if errors.As(err, &git) && git.Remedy != "" {
		return fmt.Sprintf("%v (%s)", err, git.Remedy)
	}
	return err.Error()
}

// Unwritten reports whether a part of a checkpoint could not be written.
func (r *Recorder) Unwritten() bool { return r.unwritten }

// Skips reports whether parts that can't be written are skipped.
func (r *Recorder) Skips() bool { return r.decision == Skip }

// Write writes a part of a checkpoint, and reports whether it is written. It never
// ignores a failure: it tries again, and then the user or the configuration decides. The
// decision also applies to all later parts that can't be written.
func (r *Recorder) Write(p Part) bool {
	first := !r.unwritten
	var err error
	if first {
		r.decision, err = r.writeWithRetries(p)
	} else {
		err = p.Try()
	}
	switch {
	case !r.Check(err):
		return false
	case err == nil:
		return true
	case errors.Is(err, ErrGivenUp): // a signal ended the attempt; the part itself did not fail
		return false
	}
	r.unwritten = true
	if r.decision == Skip {
		r.recordSkip(p, first, err)
		return false
	}
	if first {
		r.run.Warn(p.message(err))
		r.run.Unwritten(err)
	}
	return false
}

// WriteRequired writes a part that must not be skipped. After a failure it tries again
// like Write. It returns the last error.
func (r *Recorder) WriteRequired(p Part) error {
	_, err := r.writeWithRetries(p)
	return err
}

// writeWithRetries tries to write a part. If that fails, it tries again, unless another
// attempt is useless.
func (r *Recorder) writeWithRetries(p Part) (OnFailure, error) {
	first := p.Try()
	if first == nil || r.Final(first) {
		return "", first
	}
	decision, err := r.tryAgain(p, first)
	if err == nil {
		// The user should know: a disk that fails now and then may soon fail for good.
		r.run.Warn(fmt.Sprintf("%s at first (%v), and was %s when it was tried again", p.Problem, first, p.Done))
	}
	return decision, err
}

// Final reports whether another attempt to write a part is useless: a signal ended the last
// one, checkpoints are switched off, or the journal can no longer be written.
func (r *Recorder) Final(err error) bool {
	return errors.Is(err, ErrGivenUp) || errors.Is(err, checkpoint.ErrSwitchedOff) || r.journalBroken(err)
}

// tryAgain tries to write a part a few more times. Then the user decides, or without a
// terminal the configuration. With Retry, tryAgain continues until it succeeds or a signal
// comes.
func (r *Recorder) tryAgain(p Part, err error) (OnFailure, error) {
	wait := firstWait
	for try := 2; err != nil; try++ {
		if try > minTries {
			switch decision := r.run.Decide(p.message(err)); {
			case decision != Retry:
				return decision, err
			case try == minTries+1:
				r.run.Warn(fmt.Sprintf("%s, and is tried again: %v", p.Problem, err))
			}
		}
		if !r.run.Wait(wait) {
			return Pause, err
		}
		wait = min(2*wait, maxWait)
		if err = p.Try(); err != nil && r.Final(err) {
			return "", err
		}
	}
	return "", nil
}

// recordSkip records the checkpoints that are skipped, and warns the user.
func (r *Recorder) recordSkip(p Part, first bool, err error) {
	if first {
		r.run.Warn(fmt.Sprintf("%s, and is skipped: %v", p.Problem, err))
	}
	var ids, left []string
	if p.giveUp != nil {
		ids, left = p.giveUp()
	}
	if len(left) > 0 {
		r.run.Warn(LeftUnwritten(left))
	}
	if first || len(ids) > 0 {
		r.Add(nil, state.CheckpointSkipped{IDs: ids, Error: state.Text(err.Error())})
		r.Drain()
	}
}

// LeftUnwritten returns a message about checkpoints that could not be written and must
// not be skipped. It says why, and when they will be written.
func LeftUnwritten(ids []string) string {
	return text.Enumerate(ids) + " is needed, and stays on record without its file, which the next command that changes the session writes"
}
