package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/process"
	"prdrunner/runner/view"
)

// clockSlack is how far a record may be in the future: two machines that share a state
// directory differ by a little.
const clockSlack = time.Minute

// sessions examines each session, and compares the clock with the newest record.
func (x *examination) sessions(ctx context.Context) {
	if x.store == nil {
		return
	}
	prds, err := x.store.Reader().PRDs()
	if err != nil {
		x.fail("sessions", err)
		return
	}
	if len(prds) == 0 {
		x.ok("sessions", "there are none yet")
	}
	var newest time.Time
	for _, prd := range prds {
		if updated := x.session(ctx, prd); updated.After(newest) {
			newest = updated
		}
	}
	x.clock(newest)
}

// session examines the session of a PRD, and returns when something was recorded last.
func (x *examination) session(ctx context.Context, prd string) time.Time {
	check := "session " + prd
	untrusted, err := x.store.Untrusted(ctx, prd)
	if err == nil && untrusted != nil {
		err = untrusted
	}
	if err != nil {
		x.fail(check, err)
		return time.Time{}
	}
	snap, err := x.store.Load(prd)
	switch {
	case errors.Is(err, checkpoint.ErrNoSession): // it was removed meanwhile
		return time.Time{}
	case err != nil:
		x.add(check, info.Problem, fmt.Sprintf("`runner checkpoint validate %s` shows the damage, `runner status %s` what can be done", prd, prd), "%v", err)
		return time.Time{}
	}
	status := load.Status(x.env, prd, snap)
	before := len(x.findings)
	x.cutShort(check, snap, status)
	x.left(check, snap, status)
	if len(x.findings) == before {
		x.ok(check, "%s", describe(status))
	}
	return status.UpdatedAt
}

// cutShort reports what was begun and not finished. The next command that changes the session
// finishes it.
func (x *examination) cutShort(check string, snap *checkpoint.Snapshot, status info.SessionStatus) {
	if snap.Owner != nil {
		return // it is at work on it
	}
	next := nextOf(status)
	if p := status.Import; p != nil {
		x.add(check, info.Problem, advice.ImportAgain(p)+" finishes it", "an import from %s was cut short: files may be missing", info.ArchiveName(p))
	}
	if r := status.Rollback; r != nil {
		x.add(check, info.Problem, next+" finishes it", "a rollback to %s was cut short: the workspace may be partly restored", r.To)
	}
	if status.RescuePath != "" {
		x.add(check, info.Warning, next+" takes it over; keep the file until then",
			"what could not be written to the journal is in the rescue copy %s", status.RescuePath)
	}
	if status.TornBytes > 0 {
		x.add(check, info.Warning, next+" removes it", "the journal ends with half a record, of %d bytes, from a kill or a full disk", status.TornBytes)
	}
}

// left reports the lock and the processes of a runner that is stopped or dead.
func (x *examination) left(check string, snap *checkpoint.Snapshot, status info.SessionStatus) {
	switch owner := snap.Owner; {
	case owner != nil && owner.IsStopped():
		x.add(check, info.Warning, fmt.Sprintf("`kill -CONT %d` lets it go on", owner.PID), "its runner (pid %d) is stopped, and holds the lock", owner.PID)
	case owner != nil:
		return
	}
	var alive []string
	if snap.State != nil && snap.Owner == nil {
		for _, p := range process.Alive(snap.State.Session, snap.Logs) {
			alive = append(alive, fmt.Sprint(p.PID))
		}
	}
	switch {
	case len(alive) > 0:
		x.add(check, info.Warning, nextOf(status)+" ends them first", "processes of a runner that has ended still run: pid %s", strings.Join(alive, ", "))
	case status.Killed:
		x.add(check, info.Warning, nextOf(status)+" goes on", "its runner was killed; the lock is free, and no process is left")
	case snap.Unclean && snap.Owner == nil:
		x.ok(check, "%s; the note of a dead process in its lock is ignored", describe(status))
	}
}

// nextOf returns the command that goes on with a session, in backquotes.
func nextOf(status info.SessionStatus) string {
	if len(status.Next) == 0 {
		return "the next command that changes the session"
	}
	return "`" + string(status.Next[len(status.Next)-1]) + "`"
}

// describe says in a few words how a session is.
func describe(status info.SessionStatus) string {
	switch {
	case status.HandWritten:
		return "a document that was written by hand, not begun"
	case status.Owner != nil:
		return fmt.Sprintf("running (pid %d on %s)", status.Owner.PID, status.Owner.Host)
	}
	return string(status.Status)
}

// clock compares the clock with the newest record: a clock that went back makes records look
// as if they came from the future.
func (x *examination) clock(newest time.Time) {
	now := x.env.Now()
	switch ahead := newest.Sub(now); {
	case newest.IsZero():
		x.ok("clock", "%s", now.Format(time.RFC3339))
	case ahead > clockSlack:
		x.add("clock", info.Warning, "set the clock: `date` shows it; ages and retention are wrong until it has passed "+newest.Format(time.RFC3339),
			"the newest record is %s in the future", view.Duration(ahead))
	default:
		x.ok("clock", "%s, after the newest record", now.Format(time.RFC3339))
	}
}
