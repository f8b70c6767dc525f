package pipeline

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// fileReads is what the functions of one evaluation read. What a workstream has
// among its artifacts is there once that has completed for certain, as its outputs
// are. Until then it is unknown, so that nobody takes what an earlier run left for
// what this one makes.
type fileReads struct {
	scope    *scope
	argument *argument
	frame    frame
	calls    []readCall      // in the order in which they were made
	missing  hcl.Diagnostics // why what was read is not there, or may not be
}

// readCall is a call with what it gave, NilVal where it failed.
type readCall struct {
	fileCall
	value cty.Value
}

// readsOf takes down what an evaluation reads; nil where the argument calls no
// function that reads files.
func (s *scope) readsOf(a *argument, fr frame) *fileReads {
	if !a.readsFiles {
		return nil
	}
	return &fileReads{scope: s, argument: a, frame: fr}
}

// early says why the evaluation can't wait for a workstream, "" where it can.
func (r *fileReads) early() string {
	if r.frame.allow&kindDeferred == kindDeferred {
		return ""
	}
	if r.frame.allow&kindDeferred == kindRun {
		return "This hook runs however far the run came. Only hook \"complete\" can read artifacts."
	}
	return fmt.Sprintf("But %q must be known before anything runs. Read the file where that is evaluated later: in command, script, env, when or condition.", r.argument.name)
}

// look reports whether a workstream makes what a call reads, and whether it can
// be read now.
func (r *fileReads) look(call fileCall) (made, there bool) {
	if r == nil {
		return false, true
	}
	if r.scope.onRead != nil {
		r.scope.onRead(r, call)
	}
	if r.early() != "" && r.frame.results == nil {
		return false, true // the artifacts may not be known yet
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

// available explains why a file of a workstream can't be read while running.
func (r *fileReads) available(call fileCall, m maker) *hcl.Diagnostic {
	ws, pos := m.ws, r.frame.at
	reason := r.early()
	if reason == "" {
		reason = pos.reaches(ws.target())
	}
	if reason == "" && pos.ws != nil && !pos.inclusive && !slices.Contains(pos.ws.Upstream, ws.Name) {
		// Where the path was known when the pipeline was loaded, it is upstream.
		reason = fmt.Sprintf("Which file is read is known only now, so add %s to depends_on of %s.", ws.target().text(), pos.ws.Block)
	}
	if reason != "" {
		return r.argument.prematureRead(call, m, reason)
	}
	_, diag := ws.result(r.frame.results, reference{rng: r.argument.callRange(call)})
	return diag
}

// restored are the artifacts that are read as they will be.
func (r *fileReads) restored() map[string]func() (io.ReadCloser, error) {
	if r == nil || r.frame.results == nil {
		return nil
	}
	return r.frame.results.Restored
}

// found notes what a call gave.
func (r *fileReads) found(call fileCall, value cty.Value, err error) {
	if r == nil {
		return
	}
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
		list = append(list, c.function, c.path, c.glob, sum)
	}
	return list
}

// prematureRead says that a function reads what a workstream makes, but not for
// certain after it has run. The path is not named, since it may be sensitive.
func (a *argument) prematureRead(call fileCall, m maker, reason string) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Artifact read before it is made",
		Detail: fmt.Sprintf("%s() reads what %s has among its artifacts (%q, line %d), and so must be evaluated after it. %s",
			call.function, m.ws.target().text(), m.pattern, m.ws.DeclaredArtifact(m.pattern).Start.Line, reason),
		Subject: a.callRange(call).Ptr(),
	}
}

// callRange is where an argument calls a function; where it does so more than
// once, the whole argument.
func (a *argument) callRange(call fileCall) hcl.Range {
	var found []*hclsyntax.FunctionCallExpr
	for _, c := range a.calls {
		if c.Name == call.function {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return found[0].Range()
	}
	return a.rng()
}

// maker is a workstream that has what is read among its artifacts, by a pattern.
type maker struct {
	ws      *Workstream
	pattern string
}

// makersOf finds the workstreams that make what a call reads, by its path and by
// what that means behind links.
func (s *scope) makersOf(call fileCall) []maker {
	claims := s.claims()
	if len(claims) == 0 || !inside(call.path) {
		return nil
	}
	claims = s.linked()
	pattern := escapeGlob(path.Clean(call.path))
	if call.function == "fileset" {
		pattern = path.Join(pattern, call.glob)
	}
	readings := compileClaims("", pattern)
	if s.files.links != nil {
		for _, behind := range s.files.links.Behind(pattern) {
			readings = append(readings, compileClaims("", behind)...)
		}
	}
	var makers []maker
	seen := make(map[*Workstream]bool)
	for _, reading := range readings {
		for _, c := range claimsUnder(claims, reading) {
			for _, ws := range c.owners {
				if !seen[ws] {
					seen[ws] = true
					makers = append(makers, maker{ws, c.pattern})
				}
			}
		}
	}
	return makers
}

// escapeGlob is the glob that matches just one path.
func escapeGlob(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`*?[]{}\`, r) {
			b.WriteRune('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// claimsUnder are the claims, sorted by prefix, that certainly have a path in common
// with what is read. Of two that have, the literal beginning of one begins that of the other.
func claimsUnder(claims []*claim, reading *claim) []*claim {
	var found []*claim
	collect := func(prefix string, exact bool) {
		i, _ := slices.BinarySearchFunc(claims, prefix, func(c *claim, prefix string) int { return cmp.Compare(c.glob.prefix, prefix) })
		for _, c := range claims[i:] {
			if !strings.HasPrefix(c.glob.prefix, prefix) || exact && c.glob.prefix != prefix {
				return
			}
			if reading.overlaps(c) || reading.contains(c) || c.contains(reading) {
				found = append(found, c)
			}
		}
	}
	for end := range len(reading.glob.prefix) {
		collect(reading.glob.prefix[:end], true)
	}
	collect(reading.glob.prefix, false)
	return found
}
