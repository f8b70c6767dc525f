package survey

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
)

// links are the symbolic links that declared patterns met, as far as files were
// looked for. A pattern stands for what is behind them, too, so that paths are compared
// with the patterns that Extend returns. It is safe for concurrent use.
type links struct {
	files *workspace.Workspace

	mu       sync.Mutex
	within   tree.Links // that lead on within the workspace
	out      tree.Links // that lead out of it
	extended map[string][]string
	changes  int // how often what Extend returns may have changed
}

func newLinks(w *workspace.Workspace) *links {
	return &links{files: w, within: make(tree.Links), out: make(tree.Links), extended: make(map[string][]string)}
}

// forget forgets all links, before files are looked for anew.
func (l *links) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.within)
	clear(l.out)
	l.change()
}

// change forgets what depends on the links, which are no longer the same.
func (l *links) change() {
	clear(l.extended)
	l.changes++
}

// learn takes in the links that patterns met.
func (l *links) learn(within, out tree.Links) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, text := range within {
		if known, ok := l.within[path]; !ok || known != text {
			l.within[path] = text
			l.change()
		}
	}
	maps.Copy(l.out, out)
}

// Extend returns patterns with those that say the same without links.
func (l *links) Extend(patterns []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.within) == 0 || len(patterns) == 0 {
		return patterns
	}
	key := strings.Join(patterns, "\x00\x00")
	all, ok := l.extended[key]
	if !ok {
		all = l.files.Extend(patterns, l.within)
		l.extended[key] = all
	}
	return all
}

// State returns how often what Extend returns may have changed, and whether it
// returns more than it is given.
func (l *links) State() (changes int, adds bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes, len(l.within) > 0
}

// leadingOut returns the links that lead out of the workspace and are not among those
// that were told, and adds them to these.
func (l *links) leadingOut(told map[string]bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, path := range slices.Sorted(maps.Keys(l.out)) {
		if !told[path] {
			told[path] = true
			found = append(found, leadsTo(path, l.out[path]))
		}
	}
	return found
}

func leadsTo(link, text string) string { return link + " (to " + text + ")" }

// restoresLink takes in a link that is put back before anything starts: what is behind
// it is looked for as if it was there. Where its text can't be read, putting it back
// fails and says why.
func (s *Surveyor) restoresLink(ctx context.Context, a checkpoint.Artifact) error {
	text, err := s.files.LinkText(ctx, EntryOf(a))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		s.restoredLinks[string(a.Path)] = text
		s.links.learn(tree.Links{string(a.Path): text}, nil)
	}
	return nil
}

// Declared are the patterns of inputs and artifacts that a pipeline declares in
// the workspace.
func Declared(p *pipeline.Pipeline) []string {
	var patterns []string
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
	return Local(patterns...)
}

// Local are the patterns that are of the workspace.
func Local(patterns ...string) []string {
	return slices.DeleteFunc(patterns, func(pattern string) bool {
		return pattern == "" || !filepath.IsLocal(filepath.FromSlash(pattern))
	})
}
