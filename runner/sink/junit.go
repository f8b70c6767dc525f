package sink

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// The elements of a JUnit file, as the schema of Jenkins has them:
// https://github.com/jenkinsci/xunit-plugin, junit-10.xsd. Times are in seconds.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Time     string       `xml:"time,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Skipped   *junitSkipped `xml:"skipped"`
		Failure   *junitFailure `xml:"failure"`
		Rerun     []junitRerun  `xml:"rerunFailure"` // attempts at a step that failed in the end
		Flaky     []junitRerun  `xml:"flakyFailure"` // attempts at one that passed in the end
		Output    string        `xml:"system-out,omitempty"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitRerun struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:"stackTrace"`
		Output  string `xml:"system-out,omitempty"`
	}
)

// maxPassedLog bounds the bytes of the log of a case that passed: there can be thousands.
const maxPassedLog = 4 << 10

const junitOpening = xml.Header + "<!-- Written by runner. -->\n<testsuites "

// writeJUnit writes a suite for each phase, with a case for each workstream and gate.
func writeJUnit(w io.Writer, a *account, o Options) error {
	suites := junitSuites{Name: view.OneLine(view.Named(a.PRD, a.Title)), Time: seconds(a.ending.Duration)}
	for _, p := range a.phases {
		suite := junitSuite{Name: p.name}
		var took time.Duration
		for _, s := range p.steps {
			c := newJUnitCase(a, p, s, o.Logs)
			took += s.took
			suite.Tests++
			if c.Failure != nil {
				suite.Failures++
			}
			if c.Skipped != nil {
				suite.Skipped++
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Time = seconds(took)
		suites.Tests += suite.Tests
		suites.Failures += suite.Failures
		suites.Suites = append(suites.Suites, suite)
	}
	if lost := a.unplacedFailures(); len(lost) > 0 {
		suite := junitSuite{Name: a.PRD, Tests: len(lost), Failures: len(lost), Time: seconds(0)}
		for _, f := range lost {
			failure := junitFailure{f.Outcome, view.OneLine(string(f.Message)), describe(f)}
			suite.Cases = append(suite.Cases, junitCase{Name: cmp.Or(view.FailedStep(f), a.PRD), ClassName: a.PRD, Time: seconds(0), Failure: &failure})
		}
		suites.Tests += suite.Tests
		suites.Failures += suite.Failures
		suites.Suites = append(suites.Suites, suite)
	}
	if _, err := io.WriteString(w, junitOpening[:len(junitOpening)-len("<testsuites ")]); err != nil {
		return fmt.Errorf("write test results: %w", err)
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suites); err != nil {
		return fmt.Errorf("write test results: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func newJUnitCase(a *account, p *phase, s *step, logs view.Logs) junitCase {
	c := junitCase{Name: s.name, ClassName: a.PRD + "." + p.name, Time: seconds(s.took)}
	switch s.status {
	case failed:
		c.Failure = &junitFailure{s.failure.Outcome, view.OneLine(string(s.failure.Message)), describe(s.failure)}
		c.Rerun = reruns(s, logs)
	case passed:
		c.Flaky = reruns(s, logs)
	case allowed:
		c.Skipped = &junitSkipped{"failed, which is allowed: " + view.OneLine(view.Summary(s.failure))}
	case skipped, waiting:
		c.Skipped = &junitSkipped{view.OneLine(s.reason)}
	case pending, started:
		c.Skipped = &junitSkipped{"not done"}
		if s.reason != "" {
			c.Skipped.Message += ": " + view.OneLine(s.reason)
		}
	case reused:
		c.Output = "reused: " + view.Clean(s.reason)
	}
	if s.attempt > 0 && s.status != reused {
		c.Output = logOf(logs, s, s.attempt)
		if s.status == passed {
			c.Output = c.Output[max(0, len(c.Output)-maxPassedLog):]
		}
	}
	return c
}

func reruns(s *step, logs view.Logs) []junitRerun {
	var all []junitRerun
	for _, f := range s.failed {
		all = append(all, junitRerun{f.failure.Outcome, view.OneLine(string(f.failure.Message)), describe(f.failure), logOf(logs, s, f.number)})
	}
	return all
}

// describe returns a failure with its place, in as many lines as its message has.
func describe(f state.Failure) string {
	text := view.Clean(string(f.Message))
	if at := view.Location(f); at != "" {
		text = at + ": " + text
	}
	return text
}

// logOf returns the end of the log of an attempt. What can't be read is told in its place.
func logOf(logs view.Logs, s *step, attempt int) string {
	name := s.name
	if s.gate {
		name = disk.GateLog(s.name)
	}
	text, err := view.LogEnd(filepath.Join(logs.Dir, disk.LogName(name, attempt)), view.EndBytes)
	if err != nil {
		return err.Error()
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
