package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/cmd/runner/info"
)

// Version shows the version and the formats of a build of Runner.
func Version(w io.Writer, b info.BuildInfo) error {
	var text strings.Builder
	fmt.Fprintf(&text, "runner %s\n", b.Version)
	if b.Commit != "" {
		note := ""
		if b.Modified {
			note = ", modified"
		}
		fmt.Fprintf(&text, "commit %s (%s%s)\n", b.Commit, b.Time, note)
	}
	fmt.Fprintf(&text, "%s %s\n", b.Go, b.Platform)
	fmt.Fprintf(&text, "formats: state %s, plan %s, output %s\n", b.Formats["state"], b.Formats["plan"], b.Formats["output"])
	_, err := io.WriteString(w, text.String())
	return err
}
