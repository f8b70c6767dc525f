package runner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// retryOrFail repeats an attempt after a pause, or fails the workstream if the pause is
// backoff.Stop. If the run is stopping for another reason than a failure, the next run makes
// the next attempt.
func (n *node) retryOrFail(f state.Failure, pause time.Duration) {
	l := n.loop
	n.attemptsEnded++
	switch {
	case pause == backoff.Stop:
		n.recordFailure(f)
		return
	case l.status == stopFailure && !n.late():
		n.fail(n.calledOffFailure(f), false)
		return
	}
	l.recorder.Add(nil, state.WorkstreamAttemptFailed{Workstream: n.ws.Name, Attempt: n.attempt, Error: f, RetryInMS: pause.Milliseconds(), Left: n.leftFiles})
	n.leftFiles = nil
	if l.status > stopFailure {
		n.interrupt()
		return
	}
	l.slots.Delay(pause, n.newJob(n.startAttempt), func() {
		if l.status == stopFailure {
			n.fail(n.calledOffFailure(f), false)
		} else {
			n.interrupt()
		}
	})
}

// calledOffFailure returns the failure of a workstream that is not retried because another step failed.
// Its message begins with how many attempts were made, and which step that was.
func (n *node) calledOffFailure(f state.Failure) state.Failure {
	why := ""
	if all := n.loop.cause.failures; len(all) > 0 {
		why = ", since " + cmp.Or(all[0].Gate, all[0].Workstream) + " failed"
	}
	f.CalledOff = state.Text(fmt.Sprintf("%d of %d attempts, not tried again%s", n.attemptsEnded, n.ws.Retry.Attempts, why))
	f.Message = f.CalledOff + ": " + f.Message
	return f
}

// nextPause returns the pause before the next attempt, or backoff.Stop.
func (n *node) nextPause(res Result, unready bool) time.Duration {
	if unready { // waiting does not make a file appear
		return backoff.Stop
	}
	if n.pauses == nil {
		n.pauses = retryPauses(n.ws.Retry)
	}
	return pauseAfter(res, n.ws.Retry, n.pauses)
}

// pauseAfter returns the pause between an attempt with the given result and the next
// attempt, or backoff.Stop. pauses yields the pauses of the retry.
func pauseAfter(res Result, r pipeline.Retry, pauses backoff.BackOff) time.Duration {
	if res.Outcome == NotFound { // waiting does not make the program appear
		return backoff.Stop
	}
	if len(r.OnExitCodes) > 0 && (res.Outcome != Exited || !slices.Contains(r.OnExitCodes, res.ExitCode)) {
		return backoff.Stop
	}
	return pauses.NextBackOff()
}

// retryPauses returns the sequence of pauses between attempts, which ends with
// backoff.Stop.
func retryPauses(r pipeline.Retry) backoff.BackOff {
	if r.Attempts <= 1 {
		return &backoff.StopBackOff{}
	}
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(r.InitialInterval),
		backoff.WithMaxInterval(max(r.MaxInterval, r.InitialInterval)),
		backoff.WithMultiplier(r.Multiplier),
		backoff.WithRandomizationFactor(r.Jitter),
		backoff.WithMaxElapsedTime(0),
	)
	return backoff.WithMaxRetries(b, uint64(r.Attempts-1)) //nolint:gosec // at least 1, checked above
}
