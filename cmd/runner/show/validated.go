package show

import (
	"fmt"
	"io"

	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// ValidPipeline tells the user that a pipeline is valid.
func ValidPipeline(w io.Writer, v info.PipelineReport) {
	fmt.Fprintf(w, "%s is valid: %s with %s, %s and %s\n", v.File, v.PRD,
		view.Plural(v.Phases, "phase"), view.Plural(v.Workstreams, "workstream"), view.Plural(v.Gates, "gate"))
}
