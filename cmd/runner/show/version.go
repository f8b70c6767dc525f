package show

import (
	"fmt"
	"io"
	"strings"
)

// BuildInfo describes this build of Runner.
type BuildInfo struct {
	FormatVersion string            `json:"format_version"`
	Version       string            `json:"version"`
	Commit        string            `json:"commit,omitempty"`
	Modified      bool              `json:"modified,omitempty"`
	Time          string            `json:"time,omitempty"`
	Go            string            `json:"go"`
	Platform      string            `json:"platform"`
	Formats       map[string]string `json:"formats"` // versions of the formats that this version reads and writes
}

// Version shows the version and the formats of a build of Runner.
func Version(w io.Writer, info BuildInfo) error {
	var b strings.Builder
	fmt.Fprintf(&b, "runner %s\n", info.Version)
	if info.Commit != "" {
		note := ""
		if info.Modified {
			note = ", modified"
		}
		fmt.Fprintf(&b, "commit %s (%s%s)\n", info.Commit, info.Time, note)
	}
	fmt.Fprintf(&b, "%s %s\n", info.Go, info.Platform)
	fmt.Fprintf(&b, "formats: state %s, plan %s, output %s\n", info.Formats["state"], info.Formats["plan"], info.Formats["output"])
	_, err := io.WriteString(w, b.String())
	return err
}
