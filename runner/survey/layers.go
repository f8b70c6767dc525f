package survey

import (
	"cmp"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// gatherLayers gathers, for each artifact in f.Conflicts that several workstreams recorded,
// what each of them recorded.
func (s *Surveyor) gatherLayers(f *plan.Facts, st *state.State) error {
	f.Layers = make(map[string]plan.Layers)
	for _, conflicts := range f.Conflicts {
		for _, c := range conflicts {
			if len(f.Sharers[string(c.Path)]) == 0 {
				continue
			}
			layers, err := s.layersOf(c, f.Sharers[string(c.Path)], st)
			if err != nil {
				return err
			}
			f.Layers[string(c.Path)] = layers
		}
	}
	return nil
}

// layersOf returns a conflict, and those that the other workstreams that recorded its
// artifact would have if the artifact were theirs.
func (s *Surveyor) layersOf(c plan.Conflict, sharers []string, st *state.State) (plan.Layers, error) {
	var layers plan.Layers
	for _, name := range s.inOrder(sharers) {
		layer := c
		if recorded := RecordedArtifact(st, name, c.Path); name != c.Workstream {
			kept, err := s.files.Contents().HasObject(recorded.Digest)
			if err != nil {
				return nil, fmt.Errorf("look for the bytes of %s: %w", c.Path, err)
			}
			layer.Workstream, layer.Recorded, layer.Kept = name, recorded.Digest, kept
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

// inOrder returns workstreams that run one after the other in the order in which they run.
func (s *Surveyor) inOrder(names []string) []string {
	return slices.SortedStableFunc(slices.Values(names), func(a, b string) int {
		wa, wb := s.p.Workstream(a), s.p.Workstream(b)
		return cmp.Or(wa.Phase.Number-wb.Phase.Number, wa.Batch-wb.Batch)
	})
}

// GiveTo makes a workstream the owner of artifacts that Runner has restored as it made
// them: the workstreams that recorded them later run again.
func (s *Surveyor) GiveTo(workstream string, artifacts []state.Artifact) {
	for _, a := range artifacts {
		s.owners[string(a.Path)] = workstream
	}
}
