package sink

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// The objects of a SARIF file that this package writes:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Lines and columns count
// from 1.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

const (
	sarifSchema  = "https://json.schemastore.org/sarif-2.1.0.json"
	sarifOpening = `{"$schema":"` + sarifSchema + `","version":"2.1.0","runs":[{"tool":{"driver":{"name":"runner"`
)

// writeSARIF writes the failures of the run that have a place in a file. The rule of each is
// the workstream or the gate that found it.
func writeSARIF(w io.Writer, a *account, o Options) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "runner", Rules: []sarifRule{}}}, Results: []sarifResult{}}
	known := map[string]bool{}
	add := func(level string, failures []state.Failure) {
		for _, f := range failures {
			if f.File == "" {
				continue
			}
			rule := view.FailedStep(f)
			if !known[rule] {
				known[rule] = true
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule})
			}
			run.Results = append(run.Results, newSARIFResult(rule, level, view.FileBelow(o.Below, f), f))
		}
	}
	add("error", a.ending.Failures())
	add("warning", a.ending.Allowed)
	if err := json.NewEncoder(w).Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}); err != nil {
		return fmt.Errorf("write errors: %w", err)
	}
	return nil
}

func newSARIFResult(rule, level, file string, f state.Failure) sarifResult {
	uri := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
	}
	at := sarifPhysical{Artifact: sarifArtifact{uri.String()}}
	if f.Line > 0 {
		at.Region = &sarifRegion{f.Line, max(0, f.Column)}
	}
	return sarifResult{rule, level, sarifMessage{view.Clean(string(f.Message))}, []sarifLocation{{at}}}
}
