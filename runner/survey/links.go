package survey

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
)

// links holds the symbolic links found so far on the way of declared patterns. A pattern
// also stands for the files behind such links, so paths must be compared with the
// patterns that Extend returns. It is safe for concurrent use.
type links struct {
	files *workspace.Workspace

	mu       sync.Mutex
	inside   tree.Links // links that lead to a path within the workspace
	outside  tree.Links // links that lead out of the workspace
	extended map[string][]string
	changes  int // rises whenever the result of Extend may have changed
}

func newLinks(w *workspace.Workspace) *links {
	return &links{files: w, inside: make(tree.Links), outside: make(tree.Links), extended: make(map[string][]string)}
}

// reset removes all links, before the caller matches patterns again.
func (l *links) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.inside)
	clear(l.outside)
	l.dropExtended()
}

// dropExtended drops the cached results of Extend after the links have changed. The
// caller holds l.mu.
func (l *links) dropExtended() {
	clear(l.extended)
	l.changes++
}

// addLinks adds links that were found on the way of patterns.
func (l *links) addLinks(within, out tree.Links) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, text := range within {
		if known, ok := l.inside[path]; !ok || known != text {
			l.inside[path] = text
			l.dropExtended()
		}
	}
	maps.Copy(l.outside, out)
}

// Extend returns the patterns and, for each pattern that passes through a link, a pattern
// that matches the same files without the link.
func (l *links) Extend(patterns []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inside) == 0 || len(patterns) == 0 {
		return patterns
	}
	key := strings.Join(patterns, "\x00\x00")
	all, ok := l.extended[key]
	if !ok {
		all = l.files.Tree().Extend(patterns, l.inside)
		l.extended[key] = all
	}
	return all
}

// State returns a count that rises whenever the result of Extend may have changed, and
// whether Extend adds patterns.
func (l *links) State() (changes int, adds bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes, len(l.inside) > 0
}

// newLinksOut returns the links that lead out of the workspace and are not in told, and
// adds them to told.
func (l *links) newLinksOut(told map[string]bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, path := range slices.Sorted(maps.Keys(l.outside)) {
		if !told[path] {
			told[path] = true
			found = append(found, formatLink(path, l.outside[path]))
		}
	}
	return found
}

func formatLink(link, text string) string { return link + " (to " + text + ")" }

// addRestoredLink adds a link that Runner restores before anything starts, so that files
// behind the link are found as if it existed. If the link's target can't be read, the
// restore fails later and says why.
func (s *Surveyor) addRestoredLink(ctx context.Context, a state.Artifact) error {
	text, err := s.files.Contents().LinkText(ctx, EntryOf(a))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		s.restoredLinks[string(a.Path)] = text
		s.links.addLinks(tree.Links{string(a.Path): text}, nil)
	}
	return nil
}

// Declared returns the patterns of inputs and artifacts that a pipeline, and those that it
// calls, declare within the workspace. If not all of a glob is known, its pattern is wider.
func Declared(p *pipeline.Pipeline) []string {
	patterns := slices.Clone(p.PossiblePatterns)
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			patterns = append(append(patterns, ws.InputPatterns...), ws.ArtifactPatterns...)
			for _, g := range ws.Gates {
				patterns = append(patterns, g.InputPatterns...)
			}
		}
		for _, g := range phase.Gates {
			patterns = append(patterns, g.InputPatterns...)
		}
	}
	for _, called := range p.Called {
		patterns = append(patterns, Declared(called)...)
	}
	return Local(patterns...)
}

// Local returns the patterns that stay within the workspace.
func Local(patterns ...string) []string {
	return slices.DeleteFunc(patterns, func(pattern string) bool {
		return pattern == "" || !filepath.IsLocal(filepath.FromSlash(pattern))
	})
}
