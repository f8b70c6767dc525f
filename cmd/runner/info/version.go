package info

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
