package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionInShells types the beginnings of words into real shells, presses the tab key,
// and compares the arguments that the shell passes then.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("PRD-001.hcl", `pipeline "PRD-001" {
  phase "main" {
    workstream "service" {
      for_each = toset(["player", "visit one"])
      command  = ["true"]
      gate "check" { command = ["true"] }
    }
    workstream "other" { command = ["true"] }
  }
}
`)
	p.run(0, "build", "PRD-001")
	paths, err := filepath.Glob(filepath.Join(p.ws, ".runner", "PRD-001", "checkpoints", "CP-init-*"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v: %v", paths, err)
	}
	first, _, _ := strings.Cut(filepath.Base(paths[0]), ".json")
	typed := []struct{ keys, want string }{
		{"logs PRD-0\tserv\tpl\t", `<runner><logs><PRD-001><service["player"]>`},
		{"logs PRD-001 serv\tvi\t", `<runner><logs><PRD-001><service["visit one"]>`},
		{"logs PRD-001 oth\t", `<runner><logs><PRD-001><other>`},
		{"checkpoint show PRD-001 CP-i\t", "<runner><checkpoint><show><PRD-001><" + first + ">"},
		{"build PRD-001 --resume=CP-i\t", "<runner><build><PRD-001><--resume=" + first + ">"},
		{"build PRD-001 --on-conf\tres\t", "<runner><build><PRD-001><--on-conflict><restore>"},
		{"checkpoint rollb\t", "<runner><checkpoint><rollback>"},
	}
	const print = `args() { printf '<%s>' "$@"; echo; }`
	for _, shell := range []struct {
		command []string
		setup   string
		more    []struct{ keys, want string }
	}{
		{[]string{"bash", "--norc", "--noprofile", "-i"}, print + "; source <(runner completion bash)", []struct{ keys, want string }{
			{"logs PRD-001 'serv\tpl\t", `<runner><logs><PRD-001><service["player"]>`},
			{"logs PRD-001 \"serv\tvi\t", `<runner><logs><PRD-001><service["visit one"]>`},
			{"logs PRD-001 check\\ \\(service\\[\\\"pl\t", `<runner><logs><PRD-001><check (service["player"])>`},
		}},
		{[]string{"zsh", "-f", "-i"}, print + "; autoload -U compinit; compinit -D -u; source <(runner completion zsh)", nil},
		{[]string{"fish", "--no-config", "-i"}, "function args; printf '<%s>' $argv; echo; end; runner completion fish | source", nil},
	} {
		t.Run(shell.command[0], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell.command[0]); err != nil {
				skipUnlessCI(t, "needs "+shell.command[0])
			}
			cmd := exec.CommandContext(t.Context(), shell.command[0], shell.command[1:]...)
			cmd.Dir, cmd.Env = p.ws, append(p.environ, "COLUMNS=200", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
			s := startAtTerminal(t, cmd)
			s.send(shell.setup + "\n")
			for i, test := range append(typed, shell.more...) {
				s.send(fmt.Sprintf("args ready %d\n", i))
				s.expect(fmt.Sprintf("<ready><%d>", i))
				// The shell reads the keys one after the other, also while it completes.
				s.send("runner " + test.keys + "\x01args \x05\n")
				s.expect(test.want)
			}
			s.send("exit\n")
		})
	}
}
