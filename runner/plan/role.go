package plan

import (
	"path"
	"path/filepath"

	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
)

// RoleOf describes the role of a workspace file in a pipeline, such as "among the inputs
// of WS1". It returns "" if the file has none. A plan must not be written to a file with a
// role: it would change the workspace that it was made for.
func RoleOf(p *pipeline.Pipeline, file string) string {
	if p.Document != "" && file == path.Clean(filepath.ToSlash(p.Document)) {
		return "the document of " + p.ID
	}
	if tree.MatchesAny(p.SourcePatterns, file) {
		return "among the files that " + p.ID + " includes"
	}
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			switch {
			case tree.MatchesAny(ws.InputPatterns, file):
				return "among the inputs of " + ws.Name
			case tree.MatchesAny(ws.ArtifactPatterns, file):
				return "among the artifacts of " + ws.Name
			}
			if g := judgingGate(ws.Gates, file); g != nil {
				return "among what " + g.Label() + " judges"
			}
		}
		if g := judgingGate(phase.Gates, file); g != nil {
			return "among what " + g.Label() + " judges"
		}
	}
	return ""
}

// judgingGate returns the first gate that has a file among its inputs, nil if none has.
func judgingGate(gates []*pipeline.Gate, file string) *pipeline.Gate {
	for _, g := range gates {
		if tree.MatchesAny(g.InputPatterns, file) {
			return g
		}
	}
	return nil
}
