package plan

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
)

// Links are the symbolic links that declared patterns meet. Both methods are safe for
// concurrent use.
type Links interface {
	// Extend returns patterns with those that say the same without links.
	Extend(patterns []string) []string
	// State returns how often what Extend returns may have changed, and whether it
	// adds patterns at all.
	State() (changes int, adds bool)
}

// Ownership tells whose artifact a path is, by the declared patterns.
// It is safe for concurrent use.
type Ownership struct {
	p      *pipeline.Pipeline
	byRoot map[string][]declared // by the first element of the pattern; "" where that is a wildcard
	links  Links                 // nil: there are none

	mu      sync.Mutex
	before  map[*pipeline.Workstream]map[string]bool // what runs before each, filled on demand
	behind  []declared                               // by the patterns that links add
	changes int                                      // of the links, when these were found
}

// declared is a pattern that a workstream declares to write.
type declared struct {
	ws      *pipeline.Workstream
	pattern string
}

func NewOwnership(p *pipeline.Pipeline, met Links) *Ownership {
	o := &Ownership{p: p, links: met, byRoot: make(map[string][]declared), before: make(map[*pipeline.Workstream]map[string]bool)}
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			for _, pattern := range ws.ArtifactPatterns {
				root := firstElement(pattern)
				if strings.ContainsAny(root, `*?[{\`) {
					root = ""
				}
				o.byRoot[root] = append(o.byRoot[root], declared{ws: ws, pattern: pattern})
			}
		}
	}
	return o
}

// MakersAmong names the workstreams that have run by then, and among whose
// artifacts the files are: what these hold is known when those have run.
func (o *Ownership) MakersAmong(hasRun func(maker *pipeline.Workstream) bool, lists ...[]checkpoint.Artifact) []string {
	var names []string
	for _, files := range lists {
		for i := range files {
			for maker := range o.Makers(string(files[i].Path)) {
				if !slices.Contains(names, maker.Name) && hasRun(maker) {
					names = append(names, maker.Name)
				}
			}
		}
	}
	return names
}

// judgeable reports whether a workstream has always ended when the gate is judged.
func (o *Ownership) judgeable(maker *pipeline.Workstream, g *pipeline.Gate) bool {
	if g.Workstream == nil {
		return maker.Phase.Number <= g.Phase.Number
	}
	return maker == g.Workstream || o.precedes(maker, g.Workstream)
}

// Makers yields the workstreams among whose artifacts the path is.
func (o *Ownership) Makers(file string) iter.Seq[*pipeline.Workstream] {
	return func(yield func(*pipeline.Workstream) bool) {
		if len(o.byRoot) == 0 {
			return
		}
		for _, root := range []string{firstElement(file), ""} {
			for _, c := range o.byRoot[root] {
				if c.holds(file) && !yield(c.ws) {
					return
				}
			}
		}
		for _, c := range o.behindLinks() {
			if c.holds(file) && !yield(c.ws) {
				return
			}
		}
	}
}

func (c declared) holds(file string) bool { return tree.Matches(c.pattern, file) }

// behindLinks returns the patterns that the links known now add to the declared ones.
func (o *Ownership) behindLinks() []declared {
	if o.links == nil {
		return nil
	}
	changes, adds := o.links.State()
	o.mu.Lock()
	defer o.mu.Unlock()
	if changes == o.changes {
		return o.behind
	}
	o.behind, o.changes = nil, changes
	for _, phase := range o.p.Phases {
		for _, ws := range phase.Workstreams {
			if !adds || len(ws.Artifacts) == 0 {
				continue
			}
			for _, pattern := range o.links.Extend(ws.ArtifactPatterns)[len(ws.ArtifactPatterns):] {
				o.behind = append(o.behind, declared{ws: ws, pattern: pattern})
			}
		}
	}
	return o.behind
}

// precedes reports whether a has always ended when b starts.
func (o *Ownership) precedes(a, b *pipeline.Workstream) bool {
	if a == b || a.Phase.Number > b.Phase.Number {
		return false
	}
	if a.Phase.Number < b.Phase.Number {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	reach := o.before[b]
	if reach == nil {
		reach = make(map[string]bool)
		collectUpstream(b, reach)
		o.before[b] = reach
	}
	return reach[a.Name]
}

// collectUpstream adds the names of everything of its own phase that a
// workstream depends on, directly or not.
func collectUpstream(ws *pipeline.Workstream, into map[string]bool) {
	byName := make(map[string]*pipeline.Workstream, len(ws.Phase.Workstreams))
	for _, other := range ws.Phase.Workstreams {
		byName[other.Name] = other
	}
	queue := []*pipeline.Workstream{ws}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, name := range next.DependsOn {
			if up := byName[name]; up != nil && !into[name] {
				into[name] = true
				queue = append(queue, up)
			}
		}
	}
}

func firstElement(p string) string {
	first, _, _ := strings.Cut(p, "/")
	first, _, _ = strings.Cut(first, tree.Except)
	return first
}
