package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/record"
	"prdrunner/runner/survey"
)

// captures makes the captures of a run and limits the time that they take.
type captures struct {
	loop *loop

	count     int           // the number of captures of the session so far
	duration  time.Duration // the time that these captures took
	measuring bool
	failed    bool // the last capture failed, and was not skipped

	warnedLeftOut  bool     // the user was told which files captures leave out
	warnedUnstable []string // files that kept changing, about which the user was told
}

const (
	// freeCaptures is the number of captures that a session makes even if they are slow.
	freeCaptures = 10
	// captureShare bounds the time of captures at the boundaries of workstreams: they
	// may take one part in captureShare of the session's time.
	captureShare = 10
)

// addEarlierRuns adds the captures of earlier runs, which the state records.
func (c *captures) addEarlierRuns(st *state.State) {
	c.count += st.Captures.Made
	c.duration += time.Duration(st.Captures.TookMS) * time.Millisecond
}

// measure starts to measure a capture. The caller must call the returned function at the
// end of the capture, whether it succeeded or not. A capture within another is not
// counted.
func (c *captures) measure(now func() time.Time) (ended func()) {
	if c.measuring {
		return func() {}
	}
	c.measuring = true
	began := now()
	return func() {
		c.measuring = false
		c.count++
		c.duration += now().Sub(began)
	}
}

// affordable reports whether a session that was active for the given time may make
// another capture.
func (c *captures) affordable(active time.Duration) bool {
	return c.count < freeCaptures || c.duration*captureShare <= active
}

// captureAtBoundary captures the files when a workstream is complete, if nothing else
// runs: only then are all files those of complete workstreams. It calls checkpoints,
// which adds the checkpoints of the boundary. The measured time includes the commit that
// makes these checkpoints durable.
func (cs *captures) captureAtBoundary(checkpoints func()) {
	l := cs.loop
	if !cs.mayCapture() {
		checkpoints()
		return
	}
	defer cs.measure(l.opts.Now)()
	l.recorder.Drain() // draining may start work
	if !l.slots.Resting() || l.status != running || l.recorder.Err() != nil {
		checkpoints()
		return
	}
	cs.capture(state.TriggerWorkstreamComplete)
	if l.files.CommitsToBranch() {
		l.readGit()
	}
	checkpoints()
	l.recorder.Drain() // the next completion must not share a commit with these checkpoints
}

// mayCapture reports whether the files may be captured at a boundary: nothing runs, and
// no retry is pending. With a retry pending, the files include those of a failed attempt.
func (cs *captures) mayCapture() bool {
	l := cs.loop
	if l.opts.Capture != CaptureBoundary || !l.opts.Store.Captures() || l.status != running || l.recorder.Err() != nil || !l.slots.Resting() {
		return false
	}
	active := time.Duration(l.session.State().ActiveMS)*time.Millisecond + l.opts.Now().Sub(l.activeSince)
	return cs.affordable(active)
}

// capture captures the files of the workspace for the next checkpoint. The caller must
// ensure that nothing runs. A signal cancels a capture. After that, and if the run must
// end at once, capture does nothing.
func (cs *captures) capture(t state.Trigger) {
	if cs.loop.opts.Capture == CaptureOff {
		return
	}
	cs.captureWith(func(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
		return cs.loop.session.CaptureFor(ctx, w, patterns, t)
	})
}

// captureWith is like capture, but calls the given method of the session.
func (cs *captures) captureWith(capture func(context.Context, *workspace.Workspace, []string) (workspace.Captured, error)) {
	l := cs.loop
	defer cs.measure(l.opts.Now)()
	l.recorder.Drain() // the records of the captured files must be in the journal before the capture
	if l.recorder.Err() != nil || !l.opts.Store.Captures() {
		return
	}
	if l.atOnce || cs.failed && l.cause.signal != "" {
		cs.failed = true
		return
	}
	givenUp := false
	made := l.recorder.Write(record.Part{
		Problem: "the workspace could not be captured", Done: "written",
		Try: func() error {
			var c workspace.Captured
			err := l.runUntilSignal(func(ctx context.Context) (err error) {
				c, err = capture(ctx, l.files, cs.capturePatterns())
				return err
			})
			givenUp = errors.Is(err, record.ErrGivenUp)
			cs.warnLeftOut(c)
			return err
		},
	})
	cs.failed = !made && (givenUp || !l.recorder.Skips())
}

// capturePatterns returns the patterns of files that a capture includes in addition to
// those that git tracks: files that the pipeline names, and files that the configuration
// adds.
func (cs *captures) capturePatterns() []string {
	l := cs.loop
	patterns := slices.Concat(survey.Local(string(l.opts.pipelineRef().Path), filepath.ToSlash(l.pipeline.Document)), l.pipeline.SourcePatterns, survey.Declared(l.pipeline))
	slices.Sort(patterns)
	return l.opts.Store.Including(slices.Compact(patterns))
}

// warnLeftOut warns once about the files that all captures leave out, and once about each
// file that kept changing while a capture read it.
func (cs *captures) warnLeftOut(c workspace.Captured) {
	l := cs.loop
	unstable := slices.DeleteFunc(slices.Clone(c.Unstable), func(path string) bool { return slices.Contains(cs.warnedUnstable, path) })
	if len(unstable) > 0 {
		cs.warnedUnstable = append(cs.warnedUnstable, unstable...)
		l.warnUser("left out of a capture, since they kept changing while they were read, so that no checkpoint of it holds them: " + text.Enumerate(unstable))
	}
	if cs.warnedLeftOut || len(c.LeftOut)+len(c.Special) == 0 {
		return
	}
	cs.warnedLeftOut = true
	if len(c.LeftOut) > 0 {
		l.warnUser("left out of captures, since they look sensitive or hold a sensitive value: " + text.Enumerate(c.LeftOut))
	}
	if len(c.Special) > 0 {
		l.warnUser("left out of captures, since they may not be read, are no files, or are other repositories: " + text.Enumerate(c.Special))
	}
}

// captureFound captures the workspace when a run is resumed, before anything starts. A
// file that was edited since the last run can then be restored after the run has
// overwritten it. If no checkpoint holds these files, captureFound makes one. It also
// makes up for the capture that the last run could not make.
func (cs *captures) captureFound(uncaptured, unseen bool) {
	l := cs.loop
	if l.opts.Capture == CaptureOff {
		return
	}
	before := l.session.State().Clone()
	cs.captureWith(l.session.CaptureFound)
	if l.recorder.Err() != nil || cs.failed || l.session.State().CaptureIsHeld() {
		return
	}
	changed, first, known := cs.changedSince(before)
	if onBranch := l.files.CommitsToBranch(); onBranch { // the commit of a capture names a checkpoint
		l.readGit()
	} else if known && changed+first == 0 && before.CaptureIsHeld() {
		return // only recorded artifacts are new in the capture
	}
	trigger, reason := state.TriggerStart, "the files could not be captured at first"
	switch {
	case !uncaptured && known && changed == 0 && first > 0:
		reason = countFiles(first) + " captured for the first time"
	case !uncaptured:
		reason = describeFound(changed, known, unseen)
	case anyAttempted(l.session.State()):
		trigger = state.TriggerPhaseTransition
	}
	l.readWorkTree()
	l.addCheckpoint(trigger, reason)
}

// captureNamed captures the files that new instances name and the pipeline did not name before.
// The caller calls it before an instance runs. If such files exist, captureNamed makes a
// checkpoint of them. If captures are commits on a branch, they have these files already.
func (cs *captures) captureNamed() {
	l := cs.loop
	if l.opts.Capture == CaptureOff || l.files.CommitsToBranch() {
		return
	}
	before := l.session.State().Clone()
	cs.captureWith(l.session.CaptureFound)
	if l.recorder.Err() != nil || cs.failed {
		return
	}
	if _, first, known := cs.changedSince(before); known && first > 0 {
		l.addCheckpoint(state.TriggerStart, countFiles(first)+" captured before its instances run")
	}
}

// changedSince returns how many files differ from the capture of an earlier state, and
// how many are new only because the earlier capture did not include them. known is false
// if the files of the earlier capture are not known.
func (cs *captures) changedSince(before *state.State) (n, first int, known bool) {
	l := cs.loop
	was, known, err := checkpoint.FilesOf(l.ctx, l.files, before)
	if err != nil || !known {
		return 0, 0, false
	}
	now := l.session.State()
	is, _, err := checkpoint.FilesOf(l.ctx, l.files, now)
	if err != nil {
		return 0, 0, false
	}
	changes, apart := workspace.SplitByScope(workspace.Diff(was, is), before.Capture.Scope(was.Patterns), now.Capture.Scope(is.Patterns))
	for _, c := range apart {
		if c.Kind == workspace.Added {
			first++
		}
	}
	return len(changes), first, true
}

// describeFound returns a text that says how many files a resumed run found changed. If
// the last run ended without a capture, the changes may come from that run.
func describeFound(n int, known, unseen bool) string {
	files := "files"
	if known {
		files = countFiles(n)
	}
	if unseen {
		return files + " changed since the files were last captured"
	}
	return files + " changed since the last run"
}

func countFiles(files int) string {
	if files == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", files)
}
