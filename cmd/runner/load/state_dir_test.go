package load

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
)

// TestStateDirOfIssue: the state directory is that of the session to which the process
// belongs, or else that of the number in the file, or else the only one that has the PRD.
func TestStateDirOfIssue(t *testing.T) {
	t.Parallel()
	p := in(t, map[string]string{
		"runner.yaml": "checkpoint: {storage: {location: 'state/no-{issue}/{prd}'}}\n",
		"PRD-001.hcl": "pipeline \"PRD-001\" {\n  issue { number = 42 }\n}\n",
		"other.hcl":   "pipeline \"PRD-001\" {\n  issue { number = 43 }\n",
		"PRD-002.hcl": "pipeline \"PRD-002\" {\n}\n",
	})
	state := func(elements ...string) string {
		return filepath.Join(append([]string{p.env.Workdir, "state"}, elements...)...)
	}
	checkpointtest.Must(t, os.MkdirAll(state("no-7", "PRD-003", "PRD-003"), 0o700))
	checkpointtest.Must(t, os.MkdirAll(state("no-7x", "PRD-003", "PRD-003"), 0o700))
	environ := p.env.Environ
	for name, test := range map[string]struct {
		ref  PipelineRef
		dir  string // RUNNER_STATE_DIR
		want string
	}{
		"by the number":           {PipelineRef{PRD: "PRD-001"}, "", state("no-42", "PRD-001")},
		"of a broken file":        {PipelineRef{PRD: "PRD-001", File: "other.hcl"}, "", state("no-43", "PRD-001")},
		"of the session":          {PipelineRef{PRD: "PRD-001"}, state("no-43", "PRD-001"), state("no-43", "PRD-001")},
		"of the session of a PRD": {PipelineRef{PRD: "PRD-003"}, state("no-43", "PRD-001"), state("no-7", "PRD-003")},
		"of the named file":       {PipelineRef{PRD: "PRD-001", File: "PRD-001.hcl"}, state("no-43", "PRD-001"), state("no-42", "PRD-001")},
		"of another workspace":    {PipelineRef{PRD: "PRD-001"}, "/elsewhere/state/no-43/PRD-001", state("no-42", "PRD-001")},
		"of another place":        {PipelineRef{PRD: "PRD-001"}, state("no-43"), state("no-42", "PRD-001")},
		"of an import":            {PipelineRef{PRD: "PRD-004", Issue: 8}, "", state("no-8", "PRD-004")},
	} {
		p.env.Environ = append(environ, "RUNNER_PRD=PRD-001", "RUNNER_STATE_DIR="+test.dir)
		if got, err := stateDir(p.env, p.cfg, test.ref); err != nil || got != test.want {
			t.Errorf("%s: %s, want %s, error %v", name, got, test.want, err)
		}
	}
	p.env.Environ = environ
	const unknown = "the state directory of PRD-00%s is not known: checkpoint.storage.location is state/no-{issue}/{prd}, which needs the number of the issue, and "
	_, err := stateDir(p.env, p.cfg, PipelineRef{PRD: "PRD-002"})
	p.says("no number", err, fmt.Sprintf(unknown, "2")+"PRD-002.hcl does not say it", "write it into the pipeline: issue { number = 42 }")
	_, err = stateDir(p.env, p.cfg, PipelineRef{PRD: "PRD-004"})
	p.says("no pipeline", err, fmt.Sprintf(unknown, "4")+"there is no pipeline for PRD-004", "there are pipelines of PRD-001, PRD-002; `runner init PRD-004` writes one")
	_, err = OpenStore(p.env, p.cfg, PipelineRef{})
	p.says("no PRD", err, "each issue has a state directory of its own here", "name a PRD")
}
