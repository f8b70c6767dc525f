package review

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/owenrumney/go-sarif/v2/sarif"

	"prdrunner/checkpoint/state"
)

// parseSARIF reads the results of all runs of a SARIF file. Suppressed results, and those
// that are no failures, are no findings.
func parseSARIF(data []byte) ([]state.Finding, error) {
	report, err := sarif.FromBytes(data)
	if err != nil {
		return nil, located(data, err)
	}
	findings := []state.Finding{}
	for _, run := range report.Runs {
		if run == nil {
			continue
		}
		for _, r := range run.Results {
			if r == nil || len(r.Suppressions) > 0 || r.Kind != nil && *r.Kind != "fail" {
				continue
			}
			findings = append(findings, sarifFinding(run, r))
		}
	}
	return findings, nil
}

func sarifFinding(run *sarif.Run, r *sarif.Result) state.Finding {
	f := state.Finding{Severity: sarifSeverity(ruleOf(run, r), r)}
	if r.RuleID != nil {
		f.Title = bounded(*r.RuleID)
	}
	if r.Message.Text != nil && *r.Message.Text != "" {
		f.Detail = f.Title
		f.Title = bounded(*r.Message.Text)
	}
	if f.Title == "" {
		f.Title = "a result without a message"
	}
	for _, at := range r.Locations {
		if at == nil || at.PhysicalLocation == nil || at.PhysicalLocation.ArtifactLocation == nil || at.PhysicalLocation.ArtifactLocation.URI == nil {
			continue
		}
		f.File = bounded(pathOf(*at.PhysicalLocation.ArtifactLocation.URI))
		if region := at.PhysicalLocation.Region; region != nil && region.StartLine != nil {
			f.Line = max(0, *region.StartLine)
		}
		break
	}
	return f
}

// ruleOf returns the rule of a result, nil if the run does not describe it.
func ruleOf(run *sarif.Run, r *sarif.Result) *sarif.ReportingDescriptor {
	if run.Tool.Driver == nil || r.RuleID == nil {
		return nil
	}
	for _, rule := range run.Tool.Driver.Rules {
		if rule != nil && rule.ID == *r.RuleID {
			return rule
		}
	}
	return nil
}

// pathOf returns the path of a URI, whose special characters are escaped.
func pathOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Path != "" {
		return u.Path
	}
	return uri
}

// sarifSeverity maps the score of the property security-severity of the result or its rule,
// as code scanners set it, or else the level of the result.
func sarifSeverity(rule *sarif.ReportingDescriptor, r *sarif.Result) state.Severity {
	bags := []sarif.Properties{r.Properties}
	if rule != nil {
		bags = append(bags, rule.Properties)
	}
	for _, bag := range bags {
		if score, err := strconv.ParseFloat(fmt.Sprint(bag["security-severity"]), 64); err == nil {
			return scored(score)
		}
	}
	level := "warning" // SARIF's default
	switch {
	case r.Level != nil:
		level = *r.Level
	case rule != nil && rule.DefaultConfiguration != nil && rule.DefaultConfiguration.Level != "":
		level = rule.DefaultConfiguration.Level
	}
	switch level {
	case "error":
		return state.P1
	case "warning":
		return state.P2
	}
	return state.P3
}

// scored maps a score from 0 to 10: critical, high, medium, low.
func scored(score float64) state.Severity {
	switch {
	case score >= 9:
		return state.P0
	case score >= 7:
		return state.P1
	case score >= 4:
		return state.P2
	}
	return state.P3
}
