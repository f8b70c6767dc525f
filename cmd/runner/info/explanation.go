package info

import "prdrunner/cmd/runner/explain"

// ExplanationReport is what `runner explain --json` prints.
type ExplanationReport struct {
	FormatVersion string             `json:"format_version"`
	Topics        []explanationTopic `json:"topics"`
}

type explanationTopic struct {
	Kind     explain.Kind `json:"kind"`
	Names    []string     `json:"names"` // a * stands for anything
	Headline string       `json:"headline"`
	Body     string       `json:"body"` // Markdown
}

// NewExplanationReport returns the JSON form of topics.
func NewExplanationReport(topics []explain.Topic) ExplanationReport {
	report := ExplanationReport{FormatVersion: FormatVersion, Topics: []explanationTopic{}}
	for _, t := range topics {
		report.Topics = append(report.Topics, explanationTopic(t))
	}
	return report
}
