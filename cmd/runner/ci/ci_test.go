package ci_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/ci"
	"prdrunner/runner/view"
)

func lookup(environ map[string]string) func(string) string {
	return func(name string) string { return environ[name] }
}

func now() time.Time { return time.Unix(1767340800, 0) }

func TestDetect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		system  ci.System
		environ map[string]string
		want    ci.Job
	}{
		"none":      {ci.Auto, nil, ci.Job{System: ci.Auto}},
		"CI alone":  {ci.Auto, map[string]string{"CI": "true"}, ci.Job{System: ci.Auto}},
		"not so":    {ci.Auto, map[string]string{"GITHUB_ACTIONS": "false"}, ci.Job{System: ci.Auto}},
		"gitlab":    {ci.Auto, map[string]string{"GITLAB_CI": "true", "CI_PROJECT_DIR": "/src"}, ci.Job{System: ci.GitLab, Below: "pay/api"}},
		"buildkite": {ci.Auto, map[string]string{"BUILDKITE": "true", "BUILDKITE_BUILD_CHECKOUT_PATH": "/src/pay"}, ci.Job{System: ci.Buildkite, Below: "api", Agent: true}},
		"jenkins":   {ci.Auto, map[string]string{"JENKINS_URL": "http://ci", "WORKSPACE": "/elsewhere"}, ci.Job{System: ci.Jenkins}},
		"circleci":  {ci.Auto, map[string]string{"CIRCLECI": "true", "CIRCLE_WORKING_DIRECTORY": "~/project"}, ci.Job{System: ci.CircleCI}},
		"exports":   {ci.Auto, map[string]string{"CIRCLECI": "true", "BASH_ENV": "/tmp/env"}, ci.Job{System: ci.CircleCI, Exports: "/tmp/env"}},
		"at home":   {ci.CircleCI, map[string]string{"BASH_ENV": "/home/me/.bashrc"}, ci.Job{System: ci.CircleCI}},
		"no agent":  {ci.Buildkite, nil, ci.Job{System: ci.Buildkite}},
		"github": {
			ci.Auto, map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/src/pay/api", "GITHUB_STEP_SUMMARY": "/s", "GITHUB_OUTPUT": "/o"},
			ci.Job{System: ci.GitHub, Summary: "/s", Result: "/o"},
		},
		"chosen":     {ci.GitLab, map[string]string{"GITHUB_ACTIONS": "true"}, ci.Job{System: ci.GitLab}},
		"turned off": {ci.None, map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "/s"}, ci.Job{System: ci.None}},
	} {
		for variable, value := range tt.environ {
			if strings.HasPrefix(value, "/src") {
				tt.environ[variable] = root(value)
			}
		}
		if got := ci.Detect(tt.system, root("/src/pay/api"), lookup(tt.environ)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// root returns an absolute path of this system.
func root(path string) string {
	abs, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		return path
	}
	return abs
}

// TestNothingIsTakenForACommand holds that no text from outside is a command where it can stand
// in a line: alone, after Runner's own words, and after the bar before output.
func TestNothingIsTakenForACommand(t *testing.T) {
	t.Parallel()
	commands := []string{
		"::error::x", "  ::set-output name=a::b", "\u00a0::stop-commands::x", "::::add-mask::x", "##[error]x", "a ##[set-env name=b;]c", "##[##[group]x",
		"--- x", "+++ x", "~~~ x", "^^^ +++", "section_start:1:x", "plain",
	}
	for system, isCommand := range map[ci.System]func(line string) bool{
		ci.GitHub: func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[")
		},
		ci.GitLab:    func(line string) bool { return strings.ContainsAny(line, "\x1b\r") },
		ci.Buildkite: func(line string) bool { return len(line) > 3 && strings.Contains("--- +++ ~~~ ^^^ ", line[:4]) },
	} {
		m := ci.Job{System: system}.Markup(now)
		for _, text := range commands {
			for _, before := range []string{"", "      ", "      │ "} {
				if line := before + m.Neutral(text); isCommand(line) {
					t.Errorf("%s takes %q for a command", system, line)
				}
			}
		}
		if got := m.Neutral("a :: b - c ## [d]"); got != "a :: b - c ## [d]" {
			t.Errorf("%s changes what is no command: %q", system, got)
		}
	}
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	failure := state.Failure{Workstream: "WS1", Gate: "lint: a,b (WS1)", Message: "50% of it\nis wrong\x1b[31m", File: "a,b.go", Line: 3, Column: 7}
	for _, tt := range []struct {
		job             ci.Job
		begin, end, say string
	}{
		{
			ci.Job{System: ci.GitHub, Below: "services/pay"}, "::group::100%25", "::endgroup::",
			"::error file=services/pay/a%2Cb.go,line=3,col=7,title=lint%3A a%2Cb (WS1)::50%25 of it%0Ais wrong",
		},
		{ci.Job{System: ci.GitLab}, "\x1b[0Ksection_start:1767340800:runner_1[collapsed=true]\r\x1b[0K100%", "\x1b[0Ksection_end:1767340800:runner_1\r\x1b[0K", ""},
		{ci.Job{System: ci.Buildkite}, "--- 100%", "+++ Runner", ""},
	} {
		m := tt.job.Markup(now)
		if begin, end := m.Fold("100%", false); begin != tt.begin || end != tt.end {
			t.Errorf("%s folds with %q and %q", tt.job.System, begin, end)
		}
		if say := m.Annotate(view.Error, failure); say != tt.say {
			t.Errorf("%s annotates with %q, want %q", tt.job.System, say, tt.say)
		}
	}
	if begin, _ := (ci.Job{System: ci.Buildkite}).Markup(now).Fold("lint", true); begin != "+++ lint" {
		t.Errorf("what failed is folded with %q", begin)
	}
	if say := (ci.Job{System: ci.GitHub}).Markup(now).Annotate(view.Warning, state.Failure{Message: "::x"}); say != "::warning::::x" {
		t.Errorf("without a place: %q", say)
	}
	for _, system := range []ci.System{ci.Auto, ci.None, ci.Jenkins, ci.CircleCI} {
		if m := (ci.Job{System: system}).Markup(now); m != nil {
			t.Errorf("%s has markup: %v", system, m)
		}
	}
}
