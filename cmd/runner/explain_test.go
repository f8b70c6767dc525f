package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/cmd/runner/explain"
)

// explanations returns all topics of `runner explain`.
func explanations(t *testing.T) []explain.Topic {
	t.Helper()
	sections, err := explain.Sections()
	if err != nil {
		t.Fatal(err)
	}
	var all []explain.Topic
	for _, s := range sections {
		all = append(all, s.Topics...)
	}
	return all
}

// TestEveryExitCodeIsExplained compares the texts with the table of exit codes.
func TestEveryExitCodeIsExplained(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, row := range exitCodeTable() {
		want = append(want, strconv.Itoa(row.code))
	}
	for _, topic := range explanations(t) {
		if topic.Kind == explain.ExitCode {
			got = append(got, topic.Names...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the exit codes and the texts differ (-codes +texts):\n%s", diff)
	}
}

// TestExplainedCommandsExist takes every `runner …` of the texts: the command and its flags
// must exist.
func TestExplainedCommandsExist(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile("(?m)`runner ([a-z][^`]*)`|^ {4}(?:[A-Z_]+=\\S+ )?runner ([^#\n]*)")
	found := 0
	for _, topic := range explanations(t) {
		text := strings.Join(strings.Fields(topic.Headline), " ") + "\n" + topic.Body
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			found++
			line := strings.Join(strings.Fields(m[1]+m[2]), " ")
			if err := unknownCommand(t, line); err != nil {
				t.Errorf("%s: runner %s: %v", topic.Names[0], line, err)
			}
		}
	}
	if found < 30 {
		t.Errorf("found only %d commands in the texts", found)
	}
}
