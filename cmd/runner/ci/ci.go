// Package ci knows the CI systems that can run Runner: how to tell which one does, how its
// log folds, how it is told of an error in a line of a file, and where it takes the summary
// and the result of a step from.
//
// How a run is shown otherwise, package view decides; what is in a summary, package sink.
// Begin with Detect.
package ci

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// System is a CI system. Its values are those of --ci.
type System string

// The systems.
const (
	Auto      System = "auto" // the one that runs Runner
	None      System = "none"
	GitHub    System = "github"
	GitLab    System = "gitlab"
	Buildkite System = "buildkite"
	Jenkins   System = "jenkins"
	CircleCI  System = "circleci"
)

// Systems returns the values of --ci.
func Systems() []System {
	return []System{Auto, GitHub, GitLab, Buildkite, Jenkins, CircleCI, None}
}

// Job is the job of a CI system in which Runner runs.
type Job struct {
	System System
	// Below is the workspace relative to the checkout, slash-separated; "" if it is the
	// checkout, or not in it.
	Below string
	// Summary and Result are the files in which the system takes the summary and the result of
	// a step, "" if there are none. They are added to.
	Summary, Result string
	// Exports is the script that the system's shell reads before each later step, "" if there is
	// none. It is added to.
	Exports string
	// Agent says that the job can ask the agent of Buildkite to show a summary and keep values.
	Agent bool
}

// The variables that name the files of Job: the first two are GitHub's, the third is CircleCI's.
const (
	SummaryVariable = "GITHUB_STEP_SUMMARY"
	ResultVariable  = "GITHUB_OUTPUT"
	ExportsVariable = "BASH_ENV"
)

// marks are variables that systems set: one that is set by no other, and the directory of the
// checkout.
type marks struct {
	system           System
	itself, checkout string
}

func known() []marks {
	return []marks{
		{GitHub, "GITHUB_ACTIONS", "GITHUB_WORKSPACE"}, {GitLab, "GITLAB_CI", "CI_PROJECT_DIR"}, {Buildkite, "BUILDKITE", "BUILDKITE_BUILD_CHECKOUT_PATH"},
		{CircleCI, "CIRCLECI", "CIRCLE_WORKING_DIRECTORY"}, {Jenkins, "JENKINS_URL", "WORKSPACE"},
	}
}

// Detect returns the job of a system. For Auto that is the system that runs this process, by
// the variables that it sets. workspace is absolute.
func Detect(system System, workspace string, lookup func(variable string) string) Job {
	job := Job{System: system}
	for _, m := range known() {
		if value := lookup(m.itself); system == m.system || system == Auto && value != "" && value != "false" {
			job.System, job.Below = m.system, below(lookup(m.checkout), workspace)
			break
		}
	}
	switch job.System {
	case GitHub:
		job.Summary, job.Result = lookup(SummaryVariable), lookup(ResultVariable)
	case CircleCI: // elsewhere BASH_ENV may be a file of the user
		if lookup("CIRCLECI") == "true" {
			job.Exports = lookup(ExportsVariable)
		}
	case Buildkite:
		job.Agent = lookup("BUILDKITE") == "true"
	case Auto, None, GitLab, Jenkins:
	}
	return job
}

func below(checkout, workspace string) string {
	rel, err := filepath.Rel(checkout, workspace)
	if checkout == "" || err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// Markup returns what the log of the job has besides plain text, nil if it has nothing.
func (j Job) Markup(now func() time.Time) view.Markup {
	switch j.System {
	case GitHub:
		return github{j.Below}
	case GitLab:
		return &gitlab{now: now}
	case Buildkite:
		return buildkite{}
	case Auto, None, Jenkins, CircleCI:
	}
	return nil
}

// github writes workflow commands:
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
type github struct{ below string }

// Fold implements view.Markup.
func (github) Fold(title string, _ bool) (begin, end string) {
	return "::group::" + escapeData(title), "::endgroup::"
}

// Annotate implements view.Markup.
func (g github) Annotate(as view.Severity, f state.Failure) string {
	command := "::error "
	if as == view.Warning {
		command = "::warning "
	}
	var properties []string
	add := func(name, value string) { properties = append(properties, name+"="+escapeProperty(value)) }
	if f.File != "" {
		add("file", view.OneLine(view.FileBelow(g.below, f)))
	}
	if f.Line > 0 {
		add("line", fmt.Sprint(f.Line))
	}
	if f.Column > 0 {
		add("col", fmt.Sprint(f.Column))
	}
	if who := view.FailedStep(f); who != "" {
		add("title", view.OneLine(who))
	}
	return strings.TrimSpace(command+strings.Join(properties, ",")) + "::" + escapeData(view.Clean(string(f.Message)))
}

// Neutral implements view.Markup. GitHub takes a line that begins with ::, after white space, for
// a command, and ##[ anywhere in a line.
func (github) Neutral(text string) string {
	text = strings.ReplaceAll(text, "##[", "## [")
	if begins := strings.TrimLeftFunc(text, unicode.IsSpace); strings.HasPrefix(begins, "::") {
		text = text[:len(text)-len(begins)] + ": " + begins[1:]
	}
	return text
}

func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func escapeProperty(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}

// gitlab writes collapsible sections: https://docs.gitlab.com/ci/jobs/job_logs/
type gitlab struct {
	now   func() time.Time
	folds int
}

// Fold implements view.Markup.
func (g *gitlab) Fold(title string, _ bool) (begin, end string) {
	g.folds++
	at, name := g.now().Unix(), fmt.Sprintf("runner_%d", g.folds)
	return fmt.Sprintf("\x1b[0Ksection_start:%d:%s[collapsed=true]\r\x1b[0K%s", at, name, title),
		fmt.Sprintf("\x1b[0Ksection_end:%d:%s\r\x1b[0K", at, name)
}

// Annotate implements view.Markup.
func (*gitlab) Annotate(view.Severity, state.Failure) string { return "" }

// Neutral implements view.Markup. A section begins and ends with control characters, which no text
// has.
func (*gitlab) Neutral(text string) string { return text }

// buildkite writes groups: https://buildkite.com/docs/pipelines/configure/managing-log-output
type buildkite struct{}

// Fold implements view.Markup. A group ends where the next one begins, and +++ shows it unfolded.
func (buildkite) Fold(title string, failed bool) (begin, end string) {
	if failed {
		return "+++ " + title, "+++ Runner"
	}
	return "--- " + title, "+++ Runner"
}

// Annotate implements view.Markup.
func (buildkite) Annotate(view.Severity, state.Failure) string { return "" }

// Neutral implements view.Markup.
func (buildkite) Neutral(text string) string {
	for _, command := range []string{"---", "+++", "~~~", "^^^"} {
		if strings.HasPrefix(text, command) {
			return command[:1] + " " + text[1:]
		}
	}
	return text
}
