package inspect

import (
	"context"
	"fmt"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/view"
	"prdrunner/runner/why"
)

// Overview reads everything that is known of the current session of a PRD.
func Overview(ctx context.Context, env *cli.Environment, prd string) (*info.Overview, error) {
	store, snap, s, err := readStatus(ctx, env, prd)
	if err != nil {
		return nil, err
	}
	o := &info.Overview{Now: env.Now(), Status: s, State: snap.State}
	if snap.State == nil { // a document written by hand
		return o, nil
	}
	st := snap.State
	if snap.Owner == nil {
		st = st.CutOff()
	}
	past, err := pastSessions(ctx, env, prd)
	if err != nil {
		return nil, err
	}
	o.History, o.Metrics = info.NewHistoryReport(env.CommandLine, env.Now(), prd, past), info.NewMetricTrends(past)
	for _, session := range past {
		if session.Place == disk.PlaceCurrent {
			o.Timeline = session.Timeline
		}
	}
	at := reader.StoredSession{PRD: prd, Place: disk.PlaceCurrent, Dir: store.Dir(), State: st}
	o.Checkpoints = info.NewListReport(env.CommandLine, []reader.StoredSession{at})
	o.Outputs = info.NewOutputsReport(st, func(string) bool { return true })
	if err := addReasons(store, o); err != nil {
		return nil, err
	}
	o.Graph = info.NewGraph(st, load.RecordedPipeline(env, st, o.Variables))
	o.Critical = info.CriticalPath(o.Timeline, o.Graph)
	return o, addLogs(store, o)
}

// addReasons adds why each step ran last, and the variables that the last run was given.
func addReasons(store *checkpoint.Store, o *info.Overview) error {
	var history why.History
	_, err := store.Reader().Replay(o.Status.PRD, func(c state.Commit) error {
		for _, e := range c.Events {
			switch e := e.(type) {
			case state.SessionStarted:
				o.Variables = e.Variables
			case state.SessionResumed:
				o.Variables = e.Variables
			}
		}
		return history.Visit(c)
	})
	if err != nil {
		return fmt.Errorf("read the journal of %s: %w", o.Status.PRD, err)
	}
	o.Reasons = map[string]*why.Run{}
	for w := range o.State.Records() {
		if run := history.Last(w.Name); run != nil {
			o.Reasons[w.Name] = run
		}
	}
	return nil
}

// logRoom returns how many bytes of the end of a log each failure has, and how many failures have any. All logs together
// have at most 256 KiB, so that they fit in a page, and each has at least 4 KiB.
func logRoom(failures int) (each, first int) {
	const all, least = 256 << 10, 4 << 10
	each = min(view.EndBytes, max(least, all/max(1, failures)))
	return each, all / each
}

// addLogs adds the ends of the logs that show what failed.
func addLogs(store *checkpoint.Store, o *info.Overview) error {
	failures := o.Status.Failures()
	limit, first := logRoom(len(failures))
	for i, f := range failures {
		failed := info.FailedStep{Failure: *f}
		if f.Log != "" && i < first {
			end, err := view.LogEnd(filepath.Join(store.Layout().LogsDir(o.Status.PRD), string(f.Log)), limit)
			if err != nil {
				return err
			}
			failed.Log = end
		}
		o.Failures = append(o.Failures, failed)
	}
	return nil
}
