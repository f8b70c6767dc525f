package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile steers a terminal in every way that a file name can: it has a colour, a title,
// a string without an end, backspace, DEL, a C1 control, a change of the writing
// direction, a line separator and invalid UTF-8.
const hostile = "\x1b[35;5mX\x1b]0;owned\aY\x1b]8;;Z\x08\x7f\u009b35m\u202eW\u2028V\xff"

// hostileName is a file name that contains hostile.
const hostileName = "n" + hostile + "m"

// steering returns the surroundings of the first character in out that steers a terminal,
// "" if there is none. Newlines, tabs and what let matches are allowed.
func steering(out string, let *regexp.Regexp) string {
	if let != nil {
		out = let.ReplaceAllString(out, "")
	}
	for i, r := range out {
		invalid := r == utf8.RuneError && !strings.HasPrefix(out[i:], "\ufffd")
		if invalid || r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028') {
			return out[max(0, i-60):min(len(out), i+20)]
		}
	}
	return ""
}

// hostilePipeline returns a pipeline that has hostile in each of its texts, and whose
// workstreams print and report hostile texts and make files with hostile names.
func hostilePipeline() string {
	text := strings.NewReplacer("\x1b", `\u001b`, "\a", `\u0007`, "\x08", `\u0008`, "\x7f", `\u007f`, "\u009b", `\u009b`, "\u202e", `\u202e`, "\u2028", `\u2028`, "\xff", "").Replace(hostile)
	return strings.ReplaceAll(`
variable "v" {
  default     = "HOSTILE"
  description = "HOSTILE"
}
pipeline "PRD-001" {
  title    = "HOSTILE"
  document = "prd.md"
  phase "one" {
    title = "HOSTILE"
    workstream "make" {
      title     = "HOSTILE"
      for_each  = toset(["HOSTILE"])
      inputs    = ["in/*"]
      artifacts = ["gen/*"]
      env       = { V = var.v }
      script    = "mkdir -p gen; cp in/* gen; cat in/*; { echo name=$V; echo summary=$V; echo location=$V; echo metric.m=$V; } >$RUNNER_OUTPUT"
      gate "check" { command = ["sh", "-c", "cat in/*"] }
    }
  }
  phase "two" {
    workstream "mend" {
      script = "test -e ok || { printf 'error: '; cat in/*; exit 1; }"
    }
    gate "sign-off" {
      approval { message = "HOSTILE" }
    }
  }
}
`, "HOSTILE", text)
}

// hostileSituations returns, by name, situations in which every name and text that
// another person can choose is hostile.
func hostileSituations() map[string]func(p *place) {
	return map[string]func(p *place){
		"no session": func(*place) {},
		"failed":     (*place).failed,
		"waiting":    (*place).waiting,
		"killed": func(p *place) {
			p.failed()
			p.write("ok", "")
			p.write("in/"+hostileName, "edited "+hostile+"\n")
		},
		"edited": func(p *place) {
			p.failed()
			p.write("in/"+hostileName, "edited "+hostile+"\n")
			p.write("gen/"+hostileName, "edited "+hostile+"\n")
			p.write("prd.md", hostile)
		},
		"in git": func(p *place) {
			p.git("init", "-q", "-b", "b\u202ebranch")
			p.git("add", "-A")
			p.git("commit", "-q", "-m", hostile)
			p.failed()
			p.write("in/"+hostileName, "edited "+hostile+"\n")
			p.write("new"+hostileName, hostile)
		},
		"a broken index of git": func(p *place) {
			p.git("init", "-q")
			p.failed()
			p.write(".git/index", hostile)
			p.write(".git/HEAD", hostile)
		},
		"broken pipeline": func(p *place) {
			p.failed()
			p.write("PRD-001.hcl", "pipeline \"PRD-001\" {\n  "+hostile+" = 1\n  "+strings.ToValidUTF8(hostile, "")+"\n}\n")
		},
		"broken configuration": func(p *place) { p.write("runner.yaml", "a"+hostile+": 1\n") },
		"lost objects": func(p *place) {
			p.failed()
			p.remove("st" + hostileName + "/objects")
			p.remove("gen/" + hostileName)
		},
		"damaged journal": func(p *place) {
			p.failed()
			p.write("st"+hostileName+"/PRD-001/journal.jsonl", hostile+"\n"+hostile)
		},
		"damaged document": func(p *place) { p.write("st"+hostileName+"/PRD-001.json", `{"prd": "`+hostile+`"`) },
		"a directory in the place of a file": func(p *place) {
			p.failed()
			p.remove("gen/" + hostileName)
			p.write("gen/"+hostileName+"/"+hostileName, "")
			p.remove("in/" + hostileName)
			p.write("in/"+hostileName+"/"+hostileName, "")
		},
	}
}

// hostilePlace returns a place in this situation. The names of its workspace, state
// directory and files are hostile.
func hostilePlace(t *testing.T, situation func(p *place)) *place {
	t.Helper()
	p := newPlace(t)
	ws := filepath.Join(p.root, "ws"+hostileName)
	p = p.at(ws, os.Rename(p.ws, ws))
	p.environ = append(p.environ, "PRDRUNNER_CHECKPOINT_STORAGE_LOCATION=st"+hostileName)
	p.write("PRD-001.hcl", hostilePipeline())
	p.write("prd.md", "# What to do\n")
	p.write("in/"+hostileName, "con"+hostile+"tent\n")
	situation(p)
	return p
}

// hostileArguments returns command lines in which each argument and flag of each command
// is hostile, and some command lines that read hostile files.
func hostileArguments(t *testing.T) [][]string {
	t.Helper()
	var all [][]string
	for path, cmd := range leaves(commandLine(t)) {
		command := strings.Fields(path)[1:]
		if path == "runner serve" { // without a mistake, it would serve in the directory that `runner man` makes
			command = append(command, "--listen="+hostileName)
		}
		with := func(args ...string) { all = append(all, slices.Concat(command, args)) }
		with(hostileName)
		with("PRD-001", hostileName)
		with("PRD-001", hostileName, hostileName)
		with("--" + hostileName)
		with("-C", hostileName)
		with("PRD-001", "--config", hostileName)
		for _, flag := range []string{"file", "var", "var-file", "plan", "out", "only", "from", "invalidate", "resume", "format", "on-conflict", "older-than"} {
			if cmd.Flags().Lookup(flag) != nil {
				with("PRD-001", "--"+flag+"="+hostileName)
			}
		}
		all = append(all, slices.Concat([]string{"__complete"}, command, []string{"PRD-001", hostileName}), slices.Concat([]string{"__complete"}, command, []string{"PRD-001", ""}))
	}
	slices.SortFunc(all, slices.Compare)
	return append(all,
		[]string{hostileName}, []string{"help", hostileName}, []string{"checkpoint", hostileName},
		[]string{"fmt", "--diff", "PRD-001.hcl", hostileName}, []string{"config", "--json"})
}

// hostileWork returns command lines that work on hostile files, in an order in which each
// command has something to do if the situation allows that.
func hostileWork(dir string) [][]string {
	return [][]string{
		{"--log-level", "debug", "plan", "PRD-001", "--resume"}, {"--log-level", "debug", "--log-format", "json", "plan", "PRD-001", "--resume"},
		{"plan", "PRD-001", "-o", filepath.Join(dir, "plan"+hostileName)},
		{"checkpoint", "create", "PRD-001", "-m", hostile},
		{"checkpoint", "export", "PRD-001", "-o", filepath.Join(dir, "archive"+hostileName), "--force"},
		{"checkpoint", "import", filepath.Join(dir, "archive"+hostileName), "--replace", "--yes"},
		{"checkpoint", "rollback", "PRD-001", "0", "--yes"},
		{"approve", "PRD-001", "--comment", hostile}, {"reject", "PRD-001", "--comment", hostile},
		{"build", "PRD-001", "--resume", "-v"}, {"build", "PRD-001", "--resume", "--on-conflict", "keep", "--on-stale", "proceed"},
		{"build", "PRD-001", "--fresh", "--output", "json"}, {"build", "PRD-001", "--fresh", "--output", "quiet"},
		{"checkpoint", "create", "PRD-001"}, {"abandon", "PRD-001", "--yes"},
	}
}

// asTheyAre reports whether a command prints bytes unchanged when there is no terminal.
func asTheyAre(args []string) bool {
	line := strings.Join(args, " ")
	return args[0] == "logs" || args[0] == "completion" || strings.Contains(line, "export PRD-001 -o -") || strings.HasPrefix(line, "fmt --diff")
}

// TestNothingThatIsPrintedSteersATerminal runs every command with hostile names,
// arguments, texts, files and directories. No output may steer a terminal, neither text
// nor JSON, of commands that succeed and that fail. Commands that only read run in the
// process of the test, except in one situation.
func TestNothingThatIsPrintedSteersATerminal(t *testing.T) {
	t.Parallel()
	all := hostileSituations()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if name != "edited" && !inSample(i, 2) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := hostilePlace(t, all[name])
			var lines [][]string
			for _, invocations := range readingCommands() {
				for _, line := range invocations {
					line = strings.NewReplacer("OUT", filepath.Join(p.root, "out"), "ARCHIVE", "none").Replace(line)
					lines = append(lines, strings.Fields(line))
				}
			}
			slices.SortFunc(lines, slices.Compare)
			holds := func(args []string, out string, code int) {
				t.Helper()
				if at := steering(out, nil); at != "" && !asTheyAre(args) {
					t.Errorf("runner %q (exit code %d) prints %q", args, code, at)
				}
				if strings.Contains(out, "panic: ") || code < 0 {
					t.Errorf("runner %q: exit code %d\n%s", args, code, out)
				}
			}
			var work [][]string // command lines for the real binary
			for _, args := range lines {
				if name == "edited" {
					work = append(work, args)
					continue
				}
				out, code := inProcess(t.Context(), p.command("runner", args...))
				holds(args, out, code)
			}
			if name == "edited" {
				work = append(work, hostileArguments(t)...)
			}
			for _, args := range append(work, hostileWork(t.TempDir())...) {
				out, code := p.try(args...)
				holds(args, out, code)
			}
		})
	}
}

// TestOnATerminalOnlyRunnersOwnStylesAreSent runs commands at a terminal among hostile
// names and texts. The output may contain Runner's own styles and frames, and no other control
// sequence, even of commands that print bytes unchanged when there is no terminal.
func TestOnATerminalOnlyRunnersOwnStylesAreSent(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`\x1b\[(0|1|2|4|31|32|33|36|1;31|1;33)?m` + // styles
		`|\x1b\[\?2026h\r(\x1b\[\d+A)?(\x1b\[J)?(\x1b\[K)?` + // a frame of the live view begins
		`|\r\n(\x1b\[K)?` + // a line, or the next row of the frame
		`|(\x1b\[J)?\x1b\[\?2026l`) // the frame ends
	for name, args := range map[string][]string{
		"plan":        {"plan", "PRD-001", "--resume"},
		"build":       {"build", "PRD-001", "--resume", "--on-conflict", "keep", "--on-stale", "proceed", "--yes"},
		"question":    {"build", "PRD-001", "--resume"},
		"conflict":    {"build", "PRD-001", "--resume", "--on-conflict", "fail", "--on-stale", "proceed", "--yes"},
		"diff":        {"checkpoint", "diff", "PRD-001", "0", "workspace", "--files"},
		"logs":        {"logs", "PRD-001"},
		"watch":       {"watch", "PRD-001", "--all"},
		"error":       {"checkpoint", "show", "PRD-001", hostileName},
		"diagnostics": {"validate", "-f", "in/" + hostileName},
		"format":      {"fmt", "--diff", "broken.hcl"},
		"doctor":      {"doctor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := hostilePlace(t, hostileSituations()["edited"])
			p.write("broken.hcl", "a   = 1 # "+hostile+"\n")
			s := startAtTerminal(t, p.command("runner", append([]string{"--log-level", "debug"}, args...)...))
			if name == "question" {
				s.expect("Is it fixed? Resume?")
				s.send("n\n")
			}
			_ = s.cmd.Wait() // the exit code does not matter
			<-s.closed
			if s.all() == "" {
				t.Error("the command prints nothing")
			}
			if name == "doctor" && !strings.Contains(s.all(), "\x1b[32mok") {
				t.Errorf("doctor paints nothing:\n%s", s.all())
			}
			if at := steering(s.all(), own); at != "" {
				t.Errorf("the output steers the terminal: %q", at)
			}
		})
	}
}
