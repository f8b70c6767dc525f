package runner

import (
	"context"
	"fmt"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/runner/outputs"
	"prdrunner/runner/plan"
	"prdrunner/runner/survey"
)

// MissingArtifactError says that a workstream can't count as done because a declared
// artifact is missing.
type MissingArtifactError struct{ Err error }

func (e *MissingArtifactError) Error() string { return e.Err.Error() }

func (e *MissingArtifactError) Unwrap() error { return e.Err }

// Adopted holds the result of a workstream that the user declares to be done.
type Adopted struct {
	Digest    *state.Digest // the inputs from which it counts as run; nil: unknown
	Work      *state.Work   // its earlier record, with the values that the user gave; nil if there are neither
	HasRecord bool          // Work contains an earlier record
}

// Adopt returns the result of a workstream that the user declares to be done. The
// workstream counts as run from the current inputs. It counts as run from the inputs of
// its last attempt in two cases: the current inputs can't be known yet, because a
// workstream before it must run again, or the pipeline is nil or no longer has the
// workstream. Adopt returns the workstream's earlier record, if there is one, and
// restores the artifacts in it that are missing. It changes nothing else. given lists
// outputs and metrics that are not on record, as NAME=TEXT. Adopt returns an
// *MissingArtifactError if a declared artifact is missing after that, and a
// *plan.MissingResultsError if another step needs an output that is not on record.
func Adopt(ctx context.Context, o Options, st *state.State, workstream string, given []string) (a Adopted, err error) {
	if a.Work, err = o.Store.Reader().EarlierWork(st, workstream); err != nil {
		return a, err
	}
	a.HasRecord = a.Work != nil
	if a.Work, err = addGiven(a.Work, st.Workstream(workstream), given); err != nil {
		return a, err
	}
	var ws *pipeline.Workstream
	if o.Pipeline != nil {
		if o, err = o.withResults(st); err != nil {
			return a, err
		}
		ws = o.Pipeline.Workstream(workstream)
	}
	if ws == nil {
		a.Digest = plan.RecordedDigest(st.Workstream(workstream))
		return a, nil
	}
	o.Select = plan.Selection{}
	pl, err := inspect(ctx, o.withDefaults(), st)
	if err != nil {
		return a, err
	}
	a.Digest = pl.DigestOrRecorded(ws)
	if lost := pl.MissingResults(ws, a.Work); len(lost) > 0 {
		return a, &plan.MissingResultsError{Workstream: ws.Name, Missing: lost}
	}
	files, done, err := o.workspaceFiles()
	if err != nil {
		return a, err
	}
	defer done()
	if err := restoreMissing(ctx, files, st.RestoreID(workstream), a.Work); err != nil {
		return a, err
	}
	if err := survey.CheckMade(ctx, files, ws); err != nil {
		return a, &MissingArtifactError{err}
	}
	return a, nil
}

// restoreMissing restores the missing artifacts of work, which may be nil. If a missing
// artifact has no stored bytes, restoreMissing removes the list of artifacts from work,
// so that the caller records the existing files anew.
func restoreMissing(ctx context.Context, w *workspace.Workspace, id string, work *state.Work) error {
	if work == nil {
		return nil
	}
	var missing []state.Artifact
	for _, a := range work.Artifacts {
		if _, err := w.Tree().Lstat(string(a.Path)); err == nil {
			continue // a file that differs from its record is handled as an edit
		} else if !tree.IsAbsent(err) {
			return err
		}
		kept, err := w.Contents().HasObject(a.Digest)
		if err != nil {
			return err
		}
		if !kept {
			work.Artifacts = nil
			return nil
		}
		missing = append(missing, a)
	}
	return restoreArtifacts(ctx, w, id, missing, func(string, string) bool { return false })
}

// addGiven adds outputs and metrics that the user gave to the record of a workstream.
// work and rec may be nil.
func addGiven(work *state.Work, rec *state.Workstream, given []string) (*state.Work, error) {
	if len(given) == 0 {
		return work, nil
	}
	out, err := parseGiven(given)
	if err != nil {
		return nil, err
	}
	if work == nil {
		work = &state.Work{}
		if rec != nil {
			work.Attempt = rec.Attempts
		}
	}
	if work.Outputs == nil {
		work.Outputs = make(map[string]state.Text, len(out.Values))
	}
	for name, value := range out.Values {
		work.Outputs[name] = state.Text(value)
	}
	if work.Metrics == nil {
		work.Metrics = make(map[string]any, len(out.Metrics))
	}
	for name, value := range out.Metrics {
		work.Metrics[name] = value
	}
	return work, nil
}

// CheckGiven returns an error if Adopt can't parse the given outputs and metrics.
func CheckGiven(given []string) error {
	_, err := parseGiven(given)
	return err
}

func parseGiven(given []string) (outputs.Set, error) {
	var out outputs.Set
	for _, text := range given {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return out, fmt.Errorf("%q is not NAME=TEXT", text)
		}
		if err := out.Add(name, value); err != nil {
			return out, err
		}
	}
	return out, nil
}
