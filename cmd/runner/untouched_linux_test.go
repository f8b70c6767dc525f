package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readingCommands returns, for each command, the invocations that must change nothing in any
// situation. The list is empty for commands that always change something. OUT stands for
// a new file outside of the compared directories, ARCHIVE for an export of a failed
// session.
func readingCommands() map[string][]string {
	return map[string][]string{
		"runner build": {
			"build PRD-001 --dry-run", "build PRD-001 --dry-run --resume", "build PRD-001 --dry-run --resume=auto", "build PRD-001 --dry-run --fresh",
			"build PRD-001 --dry-run --resume=0", "build PRD-001 --dry-run --resume --from one", "build PRD-001 --dry-run --resume --invalidate make",
			"build PRD-001 --dry-run --resume --only make --output json", "build PRD-001 --dry-run --resume --on-conflict restore --on-stale proceed --yes",
		},
		"runner plan": {
			"plan PRD-001", "plan PRD-001 --resume", "plan PRD-001 --resume=0", "plan PRD-001 --resume --json", "plan PRD-001 --resume -o OUT",
			"plan PRD-001 --resume --on-conflict restore", "plan PRD-001 --resume --from one",
		},
		"runner status":              {"status", "status PRD-001", "status PRD-001 --json", "status --json", "status PRD-001 --all", "status PRD-001 --failed"},
		"runner why":                 {"why PRD-001 make", "why PRD-001 make --json"},
		"runner watch":               {"watch PRD-001", "watch PRD-001 --all --verbose", "watch PRD-001 --output json"},
		"runner outputs":             {"outputs PRD-001", "outputs PRD-001 make --json"},
		"runner diff":                {"diff PRD-001 latest latest", "diff PRD-001 --json"},
		"runner serve":               {}, // TestServeLetsInWhoHasTheToken looks whether it changes something
		"runner render":              {"render PRD-001", "render PRD-001 -o OUT"},
		"runner history":             {"history PRD-001", "history PRD-001 --json --last 1"},
		"runner logs":                {"logs PRD-001 make", "logs PRD-001", "logs PRD-001 make --attempt 1 --raw", "logs PRD-001 --grep n --since 1h --tail 3 --timestamps", "logs PRD-001 --failed"},
		"runner validate":            {"validate", "validate PRD-001", "validate PRD-001 --json"},
		"runner fmt":                 {"fmt --check", "fmt --diff"},
		"runner graph":               {"graph PRD-001", "graph PRD-001 --format json", "graph PRD-001 --format svg"},
		"runner config":              {"config", "config --json", "config --defaults"},
		"runner version":             {"version", "version --json"},
		"runner completion":          {"completion bash"},
		"runner help":                {"help", "help build", "help topics", "help tutorial"},
		"runner lsp":                 {}, // it talks to an editor, and opens no session
		"runner schema":              {"schema", "schema status"},
		"runner checkpoint delete":   {"checkpoint delete PRD-001 0 --dry-run --force", "checkpoint delete PRD-001 latest~1 --dry-run", "checkpoint delete PRD-001 --session --dry-run --json"},
		"runner checkpoint diff":     {"checkpoint diff PRD-001 0", "checkpoint diff PRD-001 0 workspace --files", "checkpoint diff PRD-001 latest~1 latest --json"},
		"runner checkpoint export":   {"checkpoint export PRD-001 -o -", "checkpoint export PRD-001 -o - --logs --force"},
		"runner checkpoint import":   {"checkpoint import ARCHIVE --dry-run", "checkpoint import ARCHIVE --dry-run --replace --overwrite --yes", "checkpoint import ARCHIVE --dry-run --json --state-only"},
		"runner checkpoint list":     {"checkpoint list", "checkpoint list PRD-001", "checkpoint list PRD-001 --all --json", "checkpoint list --all"},
		"runner checkpoint migrate":  {"checkpoint migrate --dry-run", "checkpoint migrate PRD-001 --dry-run --json"},
		"runner checkpoint prune":    {"checkpoint prune --dry-run", "checkpoint prune PRD-001 --dry-run --older-than 1ns --yes", "checkpoint prune --refs-of 0123 --dry-run"},
		"runner checkpoint rebuild":  {"checkpoint rebuild PRD-001 latest --dry-run", "checkpoint rebuild PRD-001 --dry-run", "checkpoint rebuild PRD-001 --journal --dry-run --yes"},
		"runner checkpoint rollback": {"checkpoint rollback PRD-001 0 --dry-run", "checkpoint rollback PRD-001 latest~1 --dry-run --json --force --yes", "checkpoint rollback PRD-001 0 --manual", "checkpoint rollback PRD-001 0 --dry-run --files-only"},
		"runner checkpoint show":     {"checkpoint show PRD-001", "checkpoint show PRD-001 latest --json"},
		"runner checkpoint validate": {"checkpoint validate", "checkpoint validate PRD-001", "checkpoint validate PRD-001 --deep --json"},

		"runner safety list":    {"safety list", "safety list --json"},
		"runner safety create":  {},
		"runner safety show":    {"safety show latest --json"},
		"runner safety verify":  {"safety verify latest"},
		"runner safety restore": {"safety restore latest --dry-run", "safety restore latest --manual"},
		"runner safety delete":  {"safety delete latest --dry-run"},
		"runner safety prune":   {"safety prune --dry-run --json"},

		"runner state list":        {"state list PRD-001", "state list PRD-001 --json"},
		"runner report note":       {"report note --stdout --kind key_fix --change x"},
		"runner report message":    {"report message --stdout --id M1 --body x"},
		"runner report conflict":   {"report conflict start --stdout --id C1 --parties a,b"},
		"runner report knowledge":  {"report knowledge captured --stdout --id K1"},
		"runner report metric":     {"report metric m 1 --stdout"},
		"runner report output":     {"report output o 1 --stdout"},
		"runner report state":      {"report state k v --stdout"},
		"runner report checkpoint": {"report checkpoint --stdout"},

		"runner explain": {"explain", "explain 5", "explain rerun --json", "explain invalid-duration"},
		"runner doctor":  {}, // it tries the file system where state and temporary files are; TestDoctor compares what it leaves
		"runner man":     {},

		"runner state get": {}, "runner state set": {}, "runner state unset": {},
		"runner abandon": {}, "runner approve": {}, "runner override": {}, "runner init": {}, "runner pause": {}, "runner reject": {}, "runner resolve": {},
		"runner checkpoint archive": {}, "runner checkpoint create": {}, "runner checkpoint pin": {}, "runner checkpoint unpin": {},
	}
}

// always returns the invocations that must change nothing for any command: help, an
// unknown flag, and the completion of arguments.
func always(path string) []string {
	command := strings.TrimPrefix(path, "runner ")
	return []string{command + " --help", command + " --no-such-flag", "__complete " + command + " P", "__complete " + command + " PRD-001 l"}
}

// TestEveryCommandThatLooksIsHeldTo checks that the table of looking has every command
// and every flag such as --dry-run, so that TestLookingChangesNothing tests new ones too.
func TestEveryCommandThatLooksIsHeldTo(t *testing.T) {
	t.Parallel()
	table := readingCommands()
	for path, cmd := range leaves(commandLine(t)) {
		invocations, listed := table[path]
		if !listed {
			t.Errorf("%s is not in the table of the function looking", path)
		}
		delete(table, path)
		for _, flag := range []string{"dry-run", "check", "diff", "manual"} {
			has := slices.ContainsFunc(invocations, func(line string) bool { return slices.Contains(strings.Fields(line), "--"+flag) })
			if cmd.Flags().Lookup(flag) != nil && !has {
				t.Errorf("%s --%s is not in the table of the function looking", path, flag)
			}
		}
	}
	for path := range table {
		t.Errorf("the table of the function looking has %s, which is not a command", path)
	}
}

// binarySituation is the situation in which TestLookingChangesNothing starts the real
// binary for each command. It has the most things that a command could change: an index
// of git, a capture, untracked files and edited files.
const binarySituation = "failed in a git work tree"

// TestLookingChangesNothing runs every invocation that must change nothing, in every
// situation of a session (without -full, in a sample). Workspace, state, home and
// temporary files must be the same afterwards (go-task/task 166: a dry run wrote
// checksums, so that the next run did nothing). In one situation the test starts the real
// binary; in the others the commands run in the process of the test.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "PRD-001.tar.gz")
	prepared(t, (*place).failed).run(0, "checkpoint", "export", "PRD-001", "-o", archive)
	worked := make(chan string, 4096)
	t.Run("in", func(t *testing.T) {
		all := situations()
		for i, name := range slices.Sorted(maps.Keys(all)) {
			if name != binarySituation && !inSample(i, 2) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := prepared(t, all[name])
				look := p.try
				if name != binarySituation {
					look = func(args ...string) (string, int) { return inProcess(t.Context(), p.command("runner", args...)) }
				}
				before := p.describeTree()
				for path, invocations := range readingCommands() {
					look := look
					if path == "runner watch" && name == "running" { // the run goes on until the test ends, so that only the watching ends
						ended, cancel := context.WithCancel(t.Context())
						cancel()
						look = func(args ...string) (string, int) { return inProcess(ended, p.command("runner", args...)) }
					}
					for i, line := range slices.Concat(invocations, always(path)) {
						out := filepath.Join(t.TempDir(), "out.json")
						args := strings.Fields(strings.NewReplacer("OUT", out, "ARCHIVE", archive).Replace(line))
						text, code := look(args...)
						if what := treeDiff(before, p.describeTree()); len(what) > 0 {
							t.Errorf("runner %s (exit code %d) changed something:\n%s\n%s", line, code, strings.Join(what, "\n"), text)
							before = p.describeTree()
						}
						if i < len(invocations) && code == 0 {
							worked <- line
						}
						if strings.Contains(text, "panic: ") || code < 0 {
							t.Errorf("runner %s: exit code %d\n%s", line, code, text)
						}
					}
				}
			})
		}
	})
	close(worked)
	if !*full { // a sample of the situations need not have one in which each line succeeds
		return
	}
	done := map[string]bool{}
	for line := range worked {
		done[line] = true
	}
	for _, invocations := range readingCommands() {
		for _, line := range invocations {
			if !done[line] && !refusedEverywhere(line) {
				t.Error(fmt.Sprint("runner ", line, " succeeded in no situation: that line proves nothing"))
			}
		}
	}
}

// refusedEverywhere reports whether a line must fail in every situation, because no
// situation has what the line names.
func refusedEverywhere(line string) bool {
	return line == "checkpoint prune --refs-of 0123 --dry-run"
}
