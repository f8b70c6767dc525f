package plan

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
)

// Links are the symbolic links on the way of declared patterns. Both methods must be safe
// for concurrent use.
type Links interface {
	// Extend returns the patterns and, for each pattern that passes through a link, a
	// pattern that matches the same files without the link.
	Extend(patterns []string) []string
	// State returns a count that rises whenever the result of Extend may have changed,
	// and whether Extend adds any patterns at all.
	State() (changes int, adds bool)
}

// Ownership tells which workstreams declare a path as their artifact. It is safe for
// concurrent use.
type Ownership struct {
	p      *pipeline.Pipeline
	byRoot map[string][]artifactPattern // by the first element of the pattern; "" if that has a wildcard
	links  Links                        // nil: no links

	mu           sync.Mutex
	upstream     map[*pipeline.Workstream]map[string]bool // the names of the workstreams that each one depends on; filled on demand
	linkPatterns []artifactPattern                        // the patterns that links add
	linkChanges  int                                      // what links.State returned when linkPatterns was computed
}

// artifactPattern is one artifact pattern of a workstream.
type artifactPattern struct {
	ws      *pipeline.Workstream
	pattern string
}

// NewOwnership returns the ownership of the artifacts that a pipeline declares. met may be
// nil if there are no links.
func NewOwnership(p *pipeline.Pipeline, met Links) *Ownership {
	o := &Ownership{p: p, links: met, byRoot: make(map[string][]artifactPattern), upstream: make(map[*pipeline.Workstream]map[string]bool)}
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			for _, pattern := range ws.ArtifactPatterns {
				root := firstElement(pattern)
				if strings.ContainsAny(root, `*?[{\`) {
					root = ""
				}
				o.byRoot[root] = append(o.byRoot[root], artifactPattern{ws: ws, pattern: pattern})
			}
		}
	}
	return o
}

// MakersAmong names the workstreams that make some of the files and for which hasRun
// returns true. The content of the files is final only after these have run.
func (o *Ownership) MakersAmong(hasRun func(maker *pipeline.Workstream) bool, lists ...[]state.Artifact) []string {
	var names []string
	for _, files := range lists {
		for i := range files {
			for maker := range o.makers(string(files[i].Path)) {
				if !slices.Contains(names, maker.Name) && hasRun(maker) {
					names = append(names, maker.Name)
				}
			}
		}
	}
	return names
}

// endsBeforeGate reports whether a workstream has always ended before the gate is judged.
func (o *Ownership) endsBeforeGate(maker *pipeline.Workstream, g *pipeline.Gate) bool {
	if g.Workstream == nil {
		return maker.Phase.Number <= g.Phase.Number
	}
	return maker == g.Workstream || o.endsBefore(maker, g.Workstream)
}

// makers yields the workstreams that declare a path as their artifact. It may yield a
// workstream several times.
func (o *Ownership) makers(file string) iter.Seq[*pipeline.Workstream] {
	return func(yield func(*pipeline.Workstream) bool) {
		if len(o.byRoot) == 0 {
			return
		}
		for _, root := range []string{firstElement(file), ""} {
			for _, c := range o.byRoot[root] {
				if c.matches(file) && !yield(c.ws) {
					return
				}
			}
		}
		for _, c := range o.patternsBehindLinks() {
			if c.matches(file) && !yield(c.ws) {
				return
			}
		}
	}
}

func (c artifactPattern) matches(file string) bool { return tree.Matches(c.pattern, file) }

// patternsBehindLinks returns the patterns that the links known now add to the declared
// ones.
func (o *Ownership) patternsBehindLinks() []artifactPattern {
	if o.links == nil {
		return nil
	}
	changes, adds := o.links.State()
	o.mu.Lock()
	defer o.mu.Unlock()
	if changes == o.linkChanges {
		return o.linkPatterns
	}
	o.linkPatterns, o.linkChanges = nil, changes
	for _, phase := range o.p.Phases {
		for _, ws := range phase.Workstreams {
			if !adds || len(ws.Artifacts) == 0 {
				continue
			}
			for _, pattern := range o.links.Extend(ws.ArtifactPatterns)[len(ws.ArtifactPatterns):] {
				o.linkPatterns = append(o.linkPatterns, artifactPattern{ws: ws, pattern: pattern})
			}
		}
	}
	return o.linkPatterns
}

// endsBefore reports whether a has always ended before b starts.
func (o *Ownership) endsBefore(a, b *pipeline.Workstream) bool {
	if a == b || a.Phase.Number > b.Phase.Number {
		return false
	}
	if a.Phase.Number < b.Phase.Number {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	reach := o.upstream[b]
	if reach == nil {
		reach = make(map[string]bool)
		collectUpstream(b, reach)
		o.upstream[b] = reach
	}
	return reach[a.Name]
}

// collectUpstream adds the names of all workstreams in its phase that a workstream depends
// on, directly or indirectly.
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
