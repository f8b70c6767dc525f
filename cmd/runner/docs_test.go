package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
)

const readmePath = "../../README.md"

// commandLine returns the root command with all of its subcommands.
func commandLine(t *testing.T) *cobra.Command {
	t.Helper()
	env := cli.ThisProcess()
	env.Args, env.Environ = nil, nil
	root := newRootCommand(env)
	root.InitDefaultHelpCmd()
	return root
}

// leaves returns the commands without subcommands, by path. It leaves out those that only
// Runner itself uses.
func leaves(cmd *cobra.Command) map[string]*cobra.Command {
	found := make(map[string]*cobra.Command)
	for _, child := range cmd.Commands() {
		if child.HasSubCommands() {
			for path, leaf := range leaves(child) {
				found[path] = leaf
			}
			continue
		}
		if !child.Hidden {
			found[child.CommandPath()] = child
		}
	}
	return found
}

func TestReadmeListsEveryCommand(t *testing.T) {
	t.Parallel()
	want := make(map[string]string)
	for path, cmd := range leaves(commandLine(t)) {
		want[path] = cmd.Short
	}
	got := make(map[string]string)
	for _, row := range readmeTable(t, "commands") {
		got[strings.Trim(row[0], "`")] = row[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("README.md and the commands differ (-commands +README):\n%s", diff)
	}
}

func TestReadmeListsEveryExitCode(t *testing.T) {
	t.Parallel()
	var got []exitCodeMeaning
	for _, row := range readmeTable(t, "exit codes") {
		code, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatalf("exit code %q: %v", row[0], err)
		}
		got = append(got, exitCodeMeaning{code, row[1]})
	}
	if !slices.Equal(got, exitCodeTable()) {
		t.Errorf("README.md has the exit codes %v, the code has %v", got, exitCodeTable())
	}
	help := commandLine(t).Long
	for _, row := range exitCodeTable() {
		if !strings.Contains(help, fmt.Sprintf("%3d  %s", row.code, row.meaning)) {
			t.Errorf("the help does not explain exit code %d", row.code)
		}
	}
}

// TestReadmeCommandsExist takes every `runner …` in an indented line of README.md: the
// command and its flags must exist.
func TestReadmeCommandsExist(t *testing.T) {
	t.Parallel()
	lines := regexp.MustCompile(`(?m)^ {4}(?:go run \./cmd/|bin/)?runner (.*)$`).FindAllStringSubmatch(string(readReadme(t)), -1)
	if len(lines) < 4 {
		t.Fatalf("found only %d commands in README.md", len(lines))
	}
	for _, line := range lines {
		text, _, _ := strings.Cut(line[1], " #")
		text, _, _ = strings.Cut(text, " &")
		root := commandLine(t)
		cmd, args, err := root.Find(strings.Fields(text))
		if err != nil {
			t.Errorf("runner %s: %v", text, err)
			continue
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("runner %s: %v", text, err)
		}
	}
}

// TestCIRunsTheReadme checks that README.md and the pipeline of .ci/run both have the two commands that
// run an example and the tests.
func TestCIRunsTheReadme(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"go run ./cmd/runner -C examples/cashier build PRD-009", "go test ./..."} {
		for name, text := range map[string][]byte{"README.md": readReadme(t), ".ci/PRD-900.hcl": read(t, "../../.ci/PRD-900.hcl")} {
			if !regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(command) + `$`).Match(text) {
				t.Errorf("%s does not have the line %q", name, command)
			}
		}
	}
}

// TestCINamesItsTests checks that the tests that the pipelines in .ci name exist.
func TestCINamesItsTests(t *testing.T) {
	t.Parallel()
	there := slices.Collect(maps.Keys(testNames(t)))
	pattern := regexp.MustCompile(`['"]\^(Test[A-Za-z]*)?\(?([A-Za-z|]*)\)?\$?['"]`)
	named := 0
	for _, script := range []string{"../../.ci/PRD-900.hcl", "../../.ci/PRD-901.hcl"} {
		for _, found := range pattern.FindAllSubmatch(read(t, script), -1) {
			for _, rest := range strings.Split(string(found[2]), "|") {
				named++
				name := string(found[1]) + rest
				if !slices.ContainsFunc(there, func(test string) bool { return strings.HasPrefix(test, name) }) {
					t.Errorf("%s names %s, which is no test", script, name)
				}
			}
		}
	}
	if named < 30 {
		t.Errorf("found only %d names of tests", named)
	}
}

// TestHelp checks the help of every command. The short help must begin with a capital and
// end without a full stop, and the lines of the long help must have at most 90 columns.
func TestHelp(t *testing.T) {
	t.Parallel()
	for path, cmd := range leaves(commandLine(t)) {
		switch first, last := cmd.Short[:1], cmd.Short[len(cmd.Short)-1:]; {
		case first != strings.ToUpper(first):
			t.Errorf("%s: %q does not begin with a capital", path, cmd.Short)
		case last == ".":
			t.Errorf("%s: %q ends with a full stop", path, cmd.Short)
		}
		for _, line := range strings.Split(cmd.Long, "\n") {
			if len([]rune(line)) > 90 {
				t.Errorf("%s: a line of the help is longer than 90 columns: %q", path, line)
			}
		}
	}
}

// TestInitConfigIsTheDefaults checks that every value in the runner.yaml of `runner init`
// is the default, as that file says.
func TestInitConfigIsTheDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := testEnvironment(t, map[string]string{"runner.yaml": configTemplate}).LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	fallbacks := make(map[string]any)
	for _, k := range config.Keys() {
		fallbacks[k.Name] = k.Default
	}
	set := 0
	for _, s := range cfg.Settings() {
		if s.Source == "default" {
			continue
		}
		set++
		if diff := cmp.Diff(fallbacks[s.Key], s.Value); diff != "" {
			t.Errorf("%s is not the default: %s", s.Key, diff)
		}
	}
	if set == 0 {
		t.Error("the configuration that init writes sets nothing")
	}
}

// readmeTable returns the rows of cells of the table after the given marker.
func readmeTable(t *testing.T, marker string) [][]string {
	t.Helper()
	_, after, found := bytes.Cut(readReadme(t), []byte("<!-- "+marker+": checked by a test -->\n\n"))
	if !found {
		t.Fatalf("README.md has no table of %s", marker)
	}
	table, _, _ := strings.Cut(string(after), "\n\n")
	var rows [][]string
	for _, line := range strings.Split(table, "\n")[2:] {
		var row []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows
}

func readReadme(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
