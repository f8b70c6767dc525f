package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/docs"
)

var updateReference = flag.Bool("reference.update", false, "write docs/reference.md")

// TestManualPagesWork does what each page of the manual says, in a directory that is empty at first: it writes the files that
// the page shows, runs the commands, and compares their exit codes and what they print.
func TestManualPagesWork(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	commands := 0
	for _, topic := range topics() {
		text, _ := docs.Find(topic)
		blocks := manualBlocks(text)
		if !slices.ContainsFunc(blocks, func(b manualBlock) bool { return b.kind == "console" }) {
			continue
		}
		commands++
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			dir, home := t.TempDir(), t.TempDir()
			for _, b := range blocks {
				if b.file != "" {
					b.write(t, dir)
				} else if b.kind == "console" {
					b.run(t, topic, dir, home)
				}
			}
		})
	}
	if commands < 10 {
		t.Errorf("only %d pages have commands", commands)
	}
}

// manualBlock is a fenced block of a page.
type manualBlock struct {
	line       int // of its first line
	kind, file string
	text       string
}

func manualBlocks(text string) []manualBlock {
	var all []manualBlock
	block := regexp.MustCompile("(?m)^```([a-z]+) ?(.*)\n((?:.*\n)*?)```$")
	for _, at := range block.FindAllStringSubmatchIndex(text, -1) {
		b := manualBlock{line: strings.Count(text[:at[6]], "\n") + 1, kind: text[at[2]:at[3]], text: text[at[6]:at[7]]}
		if info := text[at[4]:at[5]]; strings.Contains(info, ".") {
			b.file = info
		}
		all = append(all, b)
	}
	return all
}

func (b manualBlock) write(t *testing.T, dir string) {
	t.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(b.text, "#!") {
		mode = 0o755
	}
	path := filepath.Join(dir, b.file)
	if err := os.WriteFile(path, []byte(b.text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// run runs the commands of a block in a shell without a terminal.
func (b manualBlock) run(t *testing.T, topic, dir, home string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	for i := 0; i < len(lines); {
		line := b.line + i
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			t.Fatalf("%s.md:%d: no command begins here", topic, line)
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") {
			end++
		}
		want := lines[i+1 : end]
		i = end
		out, code := runInShell(t, command, dir, home)
		if wanted := exitCodeOf(command); code != wanted {
			t.Fatalf("%s.md:%d: %s\nexit code %d, want %d\n%s", topic, line, command, code, wanted, out)
		}
		if len(want) == 0 {
			continue
		}
		if why := compareShown(want, strings.Split(strings.TrimRight(out, "\n"), "\n")); why != "" {
			t.Fatalf("%s.md:%d: %s\n%s\n%s", topic, line, command, why, out)
		}
	}
}

// exitCodeOf returns the exit code that a comment behind a command names, else 0.
func exitCodeOf(command string) int {
	found := regexp.MustCompile(`#.*\bexit code (\d+)`).FindStringSubmatch(command)
	if found == nil {
		return 0
	}
	code, _ := strconv.Atoi(found[1])
	return code
}

func runInShell(t *testing.T, command, dir, home string) (out string, code int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home)
	printed, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(printed), cmd.ProcessState.ExitCode()
}

// compareShown says how lines differ from those of a page, "" if they don't. A line … of the page stands for any lines. Times,
// ids and numbers of processes are different in each run, and so is the width of columns.
func compareShown(want, got []string) string {
	i, skipping := 0, false
	for _, line := range want {
		if strings.TrimSpace(line) == "…" {
			skipping = true
			continue
		}
		for skipping && i < len(got) && sameEachTime(got[i]) != sameEachTime(line) {
			i++
		}
		skipping = false
		switch {
		case i >= len(got):
			return fmt.Sprintf("the line %q is missing", line)
		case sameEachTime(got[i]) != sameEachTime(line):
			return fmt.Sprintf("want %q\ngot  %q", line, got[i])
		}
		i++
	}
	if !skipping && i < len(got) {
		return fmt.Sprintf("the page does not have %q", got[i])
	}
	return ""
}

func sameEachTime(line string) string {
	for _, r := range []struct{ pattern, with string }{
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?`, "TIME"},
		{`CP-[a-z0-9-]+-\d{8}T\d{6}Z-[0-9a-f]{8}`, "CHECKPOINT"},
		{`[0-9a-f]{8}-[0-9a-f-]{27}`, "ID"},
		{`\b[0-9a-f]{12}\b`, "DIGEST"},
		{`\b[0-9a-f]{8}\b`, "ID"},
		{`\bpid \d+`, "pid"},
		{`\b\d+(\.\d+)?(ms|s|m|h|d)\b( \d+(ms|s|m)\b)*( ago)?|just now`, "TOOK"},
		{` +`, " "},
	} {
		line = regexp.MustCompile(r.pattern).ReplaceAllString(line, r.with)
	}
	return strings.TrimSpace(line)
}

// TestManualCommandsExist takes each `runner …` of the manual: the command and its flags must exist, and so must the page
// that `runner help` is given.
func TestManualCommandsExist(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile("(?m)`runner ([a-z][^`]*)`|^(?: {4}|\\$ )(?:[A-Z_a-z]+=\\S+ )?runner ([a-z][^#\n]*)")
	found := 0
	for _, topic := range topics() {
		if topic == "format" {
			continue // `runner capture` is the message of a commit there
		}
		text, _ := docs.Find(topic)
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			found++
			line := strings.Join(strings.Fields(m[1]+m[2]), " ")
			if page, ok := strings.CutPrefix(line, "help "); ok {
				if _, known := docs.Find(page); known || page == "topics" || page == "TOPIC" {
					continue
				}
			}
			if why := unknownCommand(t, line); why != nil {
				t.Errorf("%s: runner %s: %v", topic, line, why)
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d commands", found)
	}
}

// unknownCommand says why a command line of a text can't be typed, nil if it can.
func unknownCommand(t *testing.T, line string) error {
	t.Helper()
	for _, end := range []string{" >", " |", " &"} {
		line, _, _ = strings.Cut(line, end)
	}
	cmd, args, err := commandLine(t).Find(strings.Fields(line))
	if err != nil {
		return err
	}
	if !cmd.HasParent() {
		return errors.New("there is no such command")
	}
	return cmd.ParseFlags(slices.DeleteFunc(args, func(arg string) bool { return arg == "--help" }))
}

// TestTopicsAreNoCommands: `runner help NAME` means one thing.
func TestTopicsAreNoCommands(t *testing.T) {
	t.Parallel()
	root := commandLine(t)
	for _, topic := range append(topics(), "topics") {
		if cmd, rest, err := root.Find([]string{topic}); err == nil && cmd != root && len(rest) == 0 {
			t.Errorf("%s is a command, and a page of the manual", topic)
		}
	}
}

// TestReference compares the page reference.md with the commands, settings and exit codes.
func TestReference(t *testing.T) {
	t.Parallel()
	const path = "docs/reference.md"
	want := referencePage(t)
	if *updateReference {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(want, string(read(t, path))); diff != "" {
		t.Errorf("%s is not up to date (-code +page, -reference.update writes it):\n%s", path, diff)
	}
}

// referencePage writes what is said of commands, settings and exit codes as Markdown.
func referencePage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Reference\n\nThis page is made from the program. `runner COMMAND --help` shows a part of it, and `runner config` the settings as they are\n" +
		"here. The language of pipelines is in `runner help language`, and the files in `runner help format`.\n")
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, row := range exitCodeTable() {
		fmt.Fprintf(&b, "| %d | %s |\n", row.code, row.meaning)
	}
	root := commandLine(t)
	fmt.Fprintf(&b, "\n## Flags of all commands\n\n```text\n%s```\n\n## Commands\n", withOptionalValues(root.PersistentFlags().FlagUsages()))
	commands := leaves(root)
	for _, path := range slices.Sorted(maps.Keys(commands)) {
		cmd := commands[path]
		fmt.Fprintf(&b, "\n### %s\n\n```text\n%s\n\nUsage:\n  %s\n", path, cmp.Or(cmd.Long, cmd.Short), cmd.UseLine())
		section := func(heading, text string) {
			if text = strings.TrimRight(text, "\n"); text != "" {
				fmt.Fprintf(&b, "\n%s:\n%s\n", heading, text)
			}
		}
		section("Examples", cmd.Example)
		section("Flags", ownFlags(cmd))
		b.WriteString("```\n")
	}
	b.WriteString("\n## Settings\n\nA setting is a key of `runner.yaml`, and an environment variable: `checkpoint.storage.location` is\n" +
		"`PRDRUNNER_CHECKPOINT_STORAGE_LOCATION`.\n\n| key | default | |\n|---|---|---|\n")
	for _, k := range config.Keys() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, settingDefault(k.Default), strings.ReplaceAll(k.Help, "|", `\|`))
	}
	return b.String()
}

// ownFlags returns what is said of the flags that only this command has.
func ownFlags(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	return withOptionalValues(cmd.NonInheritedFlags().FlagUsages())
}

func settingDefault(v any) string {
	if text := fmt.Sprint(v); text != "" && text != "[]" {
		return "`" + text + "`"
	}
	return "none"
}
