package runner

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
)

// lookOutside finds the files outside the scope that changed during an attempt. Another
// goroutine than the loop's calls it.
func (n *node) lookOutside(r *attemptResult) {
	if n.guard == nil || !r.began {
		return
	}
	var err error
	if r.outside, err = n.guard.workTree.Changed(n.loop.grace, slices.Concat(n.loop.declaredPatterns(n.ws), n.loop.opts.OwnFiles)); err != nil && r.failure == nil {
		r.failure = &state.Failure{Workstream: n.ws.Name, Outcome: "error", Message: state.Text(n.loop.opts.Mask(err.Error()))}
	}
}

// exceeded records the files outside its scope that changed while the current attempt at a
// protected workstream ran. It returns the failure of a workstream with a strict scope, or
// nil.
func (n *node) exceeded(paths []string) *state.Failure {
	paths = n.undeclared(paths)
	if len(paths) == 0 {
		return nil
	}
	const most = 20
	e := state.ScopeExceeded{Workstream: n.ws.Name, Attempt: n.attempt}
	for _, path := range paths[:min(len(paths), most)] {
		e.Paths = append(e.Paths, state.Text(n.loop.opts.Mask(path)))
	}
	e.More = len(paths) - len(e.Paths)
	n.loop.recorder.Add(nil, e)
	if !n.ws.Protect.StrictScope {
		return nil
	}
	at := placeOf(n.ws.Protect.Range)
	return &state.Failure{
		Workstream: n.ws.Name, Outcome: "scope", File: state.Text(at.File), Line: at.Line, Column: at.Column,
		Message: state.Text(shorten(fmt.Sprintf("changed outside its scope, which is strict: %s", text.Enumerate(paths)))),
	}
}

// undeclared returns those paths that no workstream declares which may run at the same time.
func (n *node) undeclared(paths []string) []string {
	for _, other := range n.ws.Phase.Workstreams {
		if len(paths) == 0 {
			return nil
		}
		declared := n.loop.declaredPatterns(other)
		match := func(path string) bool { return tree.MatchesAny(declared, path) }
		if len(declared) > 0 && slices.ContainsFunc(paths, match) && n.ws.MayRunWith(other) {
			paths = slices.DeleteFunc(paths, match)
		}
	}
	return paths
}

// declaredPatterns returns the patterns of the files that a workstream declares to change.
func (l *loop) declaredPatterns(ws *pipeline.Workstream) []string {
	patterns := l.surveyor.Extend(ws.ArtifactPatterns)
	if ws.Protect != nil {
		patterns = slices.Concat(patterns, l.surveyor.Extend(ws.Protect.ScopePatterns), l.databaseFiles(ws.Protect))
	}
	return patterns
}

// databaseFiles returns patterns of the files of the SQLite databases that are protected.
func (l *loop) databaseFiles(p *pipeline.Protect) []string {
	var patterns []string
	for _, name := range p.Savepoints {
		s := l.pipeline.Savepoint(name)
		if s == nil || s.Driver != pipeline.SQLite {
			continue
		}
		url, _ := s.URL()
		file := tree.EscapeGlob(findings.Relative(strings.TrimPrefix(url, "sqlite:"), l.opts.Workspace, ""))
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			patterns = append(patterns, file+suffix)
		}
	}
	return patterns
}
