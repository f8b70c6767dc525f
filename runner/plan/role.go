package plan

import (
	"path"
	"path/filepath"

	"prdrunner/pipeline"
)

// RoleOf says what a file of the workspace would be to a pipeline, such as "among
// the inputs of WS1"; "" for nothing. A plan that is written there is no longer
// the plan of what is there.
func RoleOf(p *pipeline.Pipeline, file string) string {
	if p.Document != "" && file == path.Clean(filepath.ToSlash(p.Document)) {
		return "the document of " + p.ID
	}
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			switch {
			case MatchesAny(ws.InputPatterns, file):
				return "among the inputs of " + ws.Name
			case MatchesAny(ws.ArtifactPatterns, file):
				return "among the artifacts of " + ws.Name
			}
			if g := judges(ws.Gates, file); g != nil {
				return "among what " + g.Label() + " judges"
			}
		}
		if g := judges(phase.Gates, file); g != nil {
			return "among what " + g.Label() + " judges"
		}
	}
	return ""
}

// judges is the first of the gates among whose inputs a file is, nil for none.
func judges(gates []*pipeline.Gate, file string) *pipeline.Gate {
	for _, g := range gates {
		if MatchesAny(g.InputPatterns, file) {
			return g
		}
	}
	return nil
}
