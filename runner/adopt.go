package runner

import (
	"context"
	"fmt"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/survey"
)

// AbsentError says that work can't count as done, since a file is not there
// that it declares to have made.
type AbsentError struct{ Err error }

func (e *AbsentError) Error() string { return e.Err.Error() }

func (e *AbsentError) Unwrap() error { return e.Err }

// Adopted is what a workstream has on record that is said to be done.
type Adopted struct {
	Digest *checkpoint.Digest // what it counts as run from; nil is not known
	Work   *checkpoint.Work   // what it had on record earlier, and what was given; nil: nothing
	Back   bool               // something that it had on record earlier is in Work
}

// Adopt finds out what a workstream counts as that is said to be done. It counts
// as run from what there is now; what can't be known yet, since something before
// it has to run again, or since the pipeline does not have it any more or is not
// known (nil), is what its last attempt was started from. What it had on record
// earlier is brought back, with those of its artifacts that are not there; nothing
// else changes. Given are outputs and metrics, as NAME=TEXT, which nobody recorded. It fails
// with an *AbsentError where a declared artifact is missing all the same, and with a
// *LostError where something needs an output that is not on record.
func Adopt(ctx context.Context, o Options, st *checkpoint.State, workstream string, given []string) (a Adopted, err error) {
	if a.Work, err = o.Store.EarlierWork(st, workstream); err != nil {
		return a, err
	}
	a.Back = a.Work != nil
	if a.Work, err = withGiven(a.Work, st.Workstream(workstream), given); err != nil {
		return a, err
	}
	var ws *pipeline.Workstream
	if o.Pipeline != nil {
		ws = o.Pipeline.Workstream(workstream)
	}
	if ws == nil {
		a.Digest = plan.LastOrigin(st.Workstream(workstream))
		return a, nil
	}
	o.Select = plan.Selection{}
	pl, err := inspect(ctx, o.withDefaults(), st)
	if err != nil {
		return a, err
	}
	a.Digest = pl.Origin(ws)
	if lost := pl.Lost(ws, a.Work); len(lost) > 0 {
		return a, &plan.LostError{Workstream: ws.Name, Lost: lost}
	}
	files, done, err := o.files()
	if err != nil {
		return a, err
	}
	defer done()
	if err := bringBack(ctx, files, restoreID(st, workstream), a.Work); err != nil {
		return a, err
	}
	if err := survey.AllThere(ctx, files, ws); err != nil {
		return a, &AbsentError{err}
	}
	return a, nil
}

// bringBack restores those artifacts of work, nil for none, that are not there.
// Where one is neither there nor kept they don't count as recorded: what is
// there is recorded anew.
func bringBack(ctx context.Context, w *workspace.Workspace, id string, work *checkpoint.Work) error {
	if work == nil {
		return nil
	}
	var missing []checkpoint.Artifact
	for _, a := range work.Artifacts {
		if _, err := w.Lstat(string(a.Path)); err == nil {
			continue // also where it is another one now: that is shown, and decided, as any edit is
		} else if !tree.IsAbsent(err) {
			return err
		}
		kept, err := w.Kept(a.Digest)
		if err != nil {
			return err
		}
		if !kept {
			work.Artifacts = nil
			return nil
		}
		missing = append(missing, a)
	}
	return putBack(ctx, w, id, missing, func(string, string) bool { return false })
}

// withGiven adds to what is on record of a workstream, nil for nothing, what a person says.
func withGiven(work *checkpoint.Work, rec *checkpoint.Workstream, given []string) (*checkpoint.Work, error) {
	if len(given) == 0 {
		return work, nil
	}
	out, err := parseGiven(given)
	if err != nil {
		return nil, err
	}
	if work == nil {
		work = &checkpoint.Work{}
		if rec != nil {
			work.Attempt = rec.Attempts
		}
	}
	if work.Outputs == nil {
		work.Outputs = make(map[string]checkpoint.Text, len(out.values))
	}
	for name, value := range out.values {
		work.Outputs[name] = checkpoint.Text(value)
	}
	if work.Metrics == nil {
		work.Metrics = make(map[string]any, len(out.metrics))
	}
	for name, value := range out.metrics {
		work.Metrics[name] = value
	}
	return work, nil
}

// CheckGiven refuses what Adopt can't take for outputs.
func CheckGiven(given []string) error {
	_, err := parseGiven(given)
	return err
}

func parseGiven(given []string) (outputs, error) {
	var out outputs
	for _, text := range given {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return out, fmt.Errorf("%q is not NAME=TEXT", text)
		}
		if err := out.set(name, value); err != nil {
			return out, err
		}
	}
	return out, nil
}
