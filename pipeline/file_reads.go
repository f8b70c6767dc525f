package pipeline

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/glob"
)

// fileReads records the files that functions read in one evaluation. An artifact of a
// workstream can be read when the workstream is certain to have completed. Until then
// the value is unknown, so that an artifact of an earlier run is not taken for one of
// this run.
type fileReads struct {
	scope    *scope
	argument *argument
	frame    frame
	calls    []readCall      // in the order of the calls
	missing  hcl.Diagnostics // why artifacts can't be read
}

// readCall is a call with its value, or NilVal if the call failed.
type readCall struct {
	files.Call
	value cty.Value
}

// readsOf returns a record for the files that an evaluation reads, or nil if the
// argument calls no function that reads files.
func (s *scope) readsOf(a *argument, fr frame) *fileReads {
	if !a.readsFiles {
		return nil
	}
	return &fileReads{scope: s, argument: a, frame: fr}
}

// whyTooEarly returns why the evaluation can't wait for a workstream, or "" if it can.
func (r *fileReads) whyTooEarly() string {
	if r.frame.allow&kindDeferred == kindDeferred {
		return ""
	}
	if r.frame.noResults != "" {
		return r.frame.noResults + "."
	}
	return fmt.Sprintf("But %q must be known before anything runs. Read the file where that is evaluated later: in command, script, env, when or condition.", r.argument.name)
}

// Check implements files.Reads.
func (r *fileReads) Check(call files.Call) (made, there bool) {
	if r.scope.onRead != nil {
		r.scope.onRead(r, call)
	}
	if r.whyTooEarly() != "" && r.frame.results == nil {
		return false, true // the artifacts may not be evaluated yet
	}
	makers := r.scope.makersOf(call)
	if len(makers) == 0 {
		return false, true
	}
	if r.frame.results == nil {
		return true, false
	}
	for _, m := range makers {
		if diag := r.available(call, m); diag != nil {
			r.missing = append(r.missing, diag)
		}
	}
	return true, !r.missing.HasErrors()
}

// available returns why an artifact can't be read during the run, or nil if it can.
func (r *fileReads) available(call files.Call, m maker) *hcl.Diagnostic {
	ws, pos := m.ws, r.frame.at
	reason := r.whyTooEarly()
	if reason == "" {
		reason = pos.reaches(ws.target())
	}
	if reason == "" && pos.ws != nil && !pos.inclusive && !slices.Contains(pos.ws.Upstream, ws.Name) {
		// If the path was known when the pipeline was loaded, the workstream is upstream.
		reason = fmt.Sprintf("Which file is read is known only now, so add %s to depends_on of %s.", ws.target().written(), pos.ws.Block)
	}
	if reason != "" {
		return r.argument.prematureRead(call, m, reason)
	}
	_, diag := ws.result(r.frame.results, reference{rng: r.argument.callRange(call)}, viewReal)
	return diag
}

// Restored implements files.Reads.
func (r *fileReads) Restored() files.Contents {
	if r.frame.results == nil {
		return nil
	}
	return r.frame.results.Restored
}

// Record implements files.Reads.
func (r *fileReads) Record(call files.Call, value cty.Value, err error) {
	if err != nil {
		value = cty.NilVal
	}
	r.calls = append(r.calls, readCall{call, value})
}

// values lists each call with the digest of its value.
func (r *fileReads) values() []string {
	var list []string
	for _, c := range r.calls {
		sum := "error"
		if c.value != cty.NilVal {
			sum = sumValue(c.value)
		}
		list = append(list, c.Function, c.Path, c.Glob, sum)
	}
	return list
}

// prematureRead returns the error for a function that reads an artifact before the
// workstream is certain to have completed. It does not name the path, which may be
// sensitive.
func (a *argument) prematureRead(call files.Call, m maker, reason string) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Artifact read before it is made",
		Detail: fmt.Sprintf("%s() reads what %s has among its artifacts (%q, %s), and so must be evaluated after it. %s",
			call.Function, m.ws.target().written(), m.declared, lineOf(m.ws.DeclaredArtifact(m.declared), a.exprRange()), reason),
		Subject: a.callRange(call).Ptr(),
	}
}

// callRange returns the range of the call in an argument. If the argument calls the
// function more than once, it returns the range of the argument.
func (a *argument) callRange(call files.Call) hcl.Range {
	var found []*hclsyntax.FunctionCallExpr
	for _, c := range a.calls {
		if c.Name == call.Function {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return found[0].Range()
	}
	return a.exprRange()
}

// maker is a workstream with an artifact that a call reads, and the glob that declares
// it.
type maker struct {
	ws       *Workstream
	declared string
}

// makersOf returns the workstreams with an artifact that a call reads. It follows links,
// both in the path of the call and in the globs of the artifacts.
func (s *scope) makersOf(call files.Call) []maker {
	artifacts := s.artifacts()
	if len(artifacts) == 0 || !glob.Inside(call.Path) {
		return nil
	}
	artifacts = s.linked()
	pattern := glob.Escape(path.Clean(call.Path))
	if call.Function == "fileset" {
		pattern = path.Join(pattern, call.Glob)
	}
	readings := glob.Compile(pattern)
	if s.files.Links != nil {
		for _, behind := range s.files.Links.Behind(pattern) {
			readings = append(readings, glob.Compile(behind)...)
		}
	}
	var makers []maker
	seen := make(map[*Workstream]bool)
	for _, reading := range readings {
		for _, c := range overlappingArtifacts(artifacts, reading) {
			for _, ws := range c.owners {
				if !seen[ws] {
					seen[ws] = true
					makers = append(makers, maker{ws, c.declared})
				}
			}
		}
	}
	return makers
}

// overlappingArtifacts returns the artifact globs that certainly have a path in common
// with the given one. The artifact globs are sorted by prefix. If two globs have a path
// in common, the literal prefix of one is a prefix of the other's.
func overlappingArtifacts(artifacts []*artifactGlob, reading *glob.Glob) []*artifactGlob {
	var found []*artifactGlob
	collect := func(prefix string, exact bool) {
		i, _ := slices.BinarySearchFunc(artifacts, prefix, func(c *artifactGlob, prefix string) int { return cmp.Compare(c.Prefix(), prefix) })
		for _, c := range artifacts[i:] {
			if !strings.HasPrefix(c.Prefix(), prefix) || exact && c.Prefix() != prefix {
				return
			}
			if reading.Overlaps(c.Glob) {
				found = append(found, c)
			}
		}
	}
	for end := range len(reading.Prefix()) {
		collect(reading.Prefix()[:end], true)
	}
	collect(reading.Prefix(), false)
	return found
}
