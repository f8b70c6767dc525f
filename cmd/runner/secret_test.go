package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var secretAll = flag.Bool("secret.all", false, "try every sensitive value of TestSecrets both with git and without")

const secretPipeline = `
variable "token" {
  type      = string
  sensitive = true
}
variable "outer" {
  type      = string
  sensitive = true
}
variable "pin" {
  type      = number
  sensitive = true
}

pipeline "PRD-001" {
  secret "printed" { command = ["leak", "value"] }
  secret "lost" { command = ["leak", "value", "fail"] }

  phase "one" {
    workstream "resolves" {
      env     = { SECRET = secret.printed }
      dir     = "kept"
      command = ["leak", "print", "outputs", "files"]
      gate "judge" {
        env     = { SECRET = secret.printed }
        command = ["leak", "print"]
      }
    }
    workstream "gives" {
      sensitive_outputs = ["token"]
      command           = ["leak", "give"]
    }
    workstream "given" {
      depends_on = [workstream.gives]
      env        = { SECRET = workstream.gives.outputs.token }
      command    = ["leak", "print", "outputs", "fail"]
    }
    workstream "resolves-not" { command = ["echo", secret.lost] }
    workstream "prints" {
      env       = { SECRET = var.token }
      command   = ["leak", "print", "outputs", "files"]
      artifacts = ["out/kept.txt", "out/encoded.txt"]
      gate "judge" {
        env     = { SECRET = var.outer }
        command = ["leak", "print"]
      }
    }
    workstream "reads" { # it was given nothing
      depends_on = [workstream.prints]
      command    = ["leak", "cat"]
    }
    workstream "makes-env" { command = ["leak", "dotenv"] }
    workstream "dotenv" { # nobody knows its value before
      depends_on = [workstream.makes-env]
      env_file   = [".env.made"]
      dir        = "in"
      command    = ["leak", "print", "outputs", "files"]
      gate "judge" {
        env_file = ".env.made"
        command  = ["leak", "print"]
      }
    }
    workstream "counts" {
      env     = { SECRET = var.pin }
      command = ["leak", "print", "outputs"]
    }
    workstream "leaves" {
      env    = { SECRET = var.token }
      script = <<-EOT
        dir=$(mktemp -d)
        mkfifo "$dir/begun"
        (setsid sh -c ": > $dir/begun; sleep 300; :" "$SECRET" &)
        cat "$dir/begun" # until the process in the background has begun
        rm -r "$dir"
      EOT
    }
    workstream "fails" {
      inputs  = ["in/**"]
      env     = { SECRET = var.token }
      command = ["leak", "fail"]
    }
    workstream "absent" { command = ["no-such-program-${var.outer}"] }
    workstream "astray" {
      dir     = "no-such-directory-${replace(var.token, "/[^a-z0-9]/", "")}/${base64encode(var.token)}"
      command = ["true"]
    }
    workstream "named" {
      env       = { SECRET = var.token }
      command   = ["leak", "named"]
      artifacts = ["out/name-*"]
    }
    workstream "once" {
      effect  = "once"
      env     = { SECRET = var.token }
      command = ["leak", "fail"]
      verify  = ["sh", "-c", "leak print; exit 2"]
    }
    workstream "asked" {
      command = ["true"]
      gate "sign-off" {
        approval { message = "Go on?" }
      }
    }
    workstream "refused" {
      command = ["true"]
      gate "values" {
        condition     = length(var.token) > 5000
        error_message = "no"
      }
      gate "judge" {
        env     = { SECRET = var.token }
        command = ["leak", "print", "fail"]
      }
    }
  }
  hook {
    on      = ["failed"]
    env     = { SECRET = var.token }
    command = ["leak", "print", "fail"]
  }
  hook {
    on = ["failed"]
    env     = { SECRET = secret.printed }
    command = ["leak", "print", "fail"]
  }
}
`

// TestSecrets runs a pipeline whose every part leaks a sensitive value in many encodings,
// and then every command that shows or writes something about the session. No file and no
// output may contain the value in any encoding.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"git", "setsid"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	binary := buildBinary(t)
	for _, tt := range []struct{ name, value string }{
		{"special", `p@ss/w"rd+ü<1>&'$x\y`},
		{"plain", "hunter2-Zq9x"},
		{"lines", "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7bq0\nqYw3Zk9Qx2v8/+aa\n-----END KEY-----\n"},
		{"not UTF-8", "pa\xffss\xc3word\xfe"},
		{"long", strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz/", 20)},
	} {
		for _, git := range []bool{true, false} {
			if !*secretAll && git != (tt.name == "plain") {
				continue
			}
			t.Run(tt.name+map[bool]string{true: " with git", false: " without"}[git], func(t *testing.T) {
				t.Parallel()
				s := newSecretRun(t, binary, tt.value, git)
				s.everyCommand()
				s.search()
			})
		}
	}
}

// TestSecretsGivenByFlags passes sensitive values only by flags of some commands, and
// puts them into the text of -m. A command that knows the values from its own flags must
// mask them. Any other command must refuse the text, also when the pipeline file is gone.
func TestSecretsGivenByFlags(t *testing.T) {
	t.Parallel()
	const value = "hunter2-Zq9x"
	s := newSecretRun(t, buildBinary(t), value, false)
	for _, name := range []string{"PRDRUNNER_VAR_token=", "PRDRUNNER_VAR_outer=", "DEPLOY_TOKEN="} {
		s.env = slices.DeleteFunc(s.env, func(entry string) bool { return strings.HasPrefix(entry, name) })
	}
	file := filepath.Join(t.TempDir(), "values.hcl")
	if err := os.WriteFile(file, []byte("outer = \"before-"+value+"-after\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := "because of " + value
	runner := func(exit int, given bool, args ...string) {
		t.Helper()
		if given {
			args = append(args, "--var", "token="+value, "--var-file", file)
		}
		s.run(s.command(s.binary, args...), exit)
	}
	runner(1, true, "build", "PRD-001", "--keep-going")
	runner(0, true, "resolve", "PRD-001", "once", "--rerun", "-m", said)
	runner(1, true, "build", "PRD-001", "--keep-going", "--resume")
	refused := func() {
		t.Helper()
		for _, line := range []string{
			"resolve PRD-001 once --done", "resolve PRD-001 once --rerun", "approve PRD-001", "reject PRD-001", "pause PRD-001", "abandon PRD-001",
			"checkpoint create PRD-001", "checkpoint pin PRD-001 latest", "checkpoint rollback PRD-001 1 --yes", "checkpoint archive PRD-001", "checkpoint delete PRD-001 1 --yes",
		} {
			runner(2, false, append(strings.Fields(line), "-m", said)...)
		}
	}
	refused()
	runner(0, true, "resolve", "PRD-001", "once", "--done", "-m", said)
	runner(1, true, "build", "PRD-001", "--keep-going", "--resume")
	if err := os.Rename(filepath.Join(s.dir, "PRD-001.hcl"), filepath.Join(s.dir, "moved.hcl")); err != nil {
		t.Fatal(err)
	}
	refused()
	s.searchFiles()
	journal, err := os.ReadFile(filepath.Join(s.dir, ".runner", "PRD-001", "journal.jsonl"))
	if n := bytes.Count(journal, []byte(`"reason":"because of ***"`)); err != nil || n != 2 {
		t.Errorf("the journal holds %d masked reasons, want 2: %v", n, err)
	}
}

// secretRun is a workspace in which a value must stay secret.
type secretRun struct {
	t           *testing.T
	binary, dir string
	value       string
	git         bool
	needles     []string // what no file and no output may contain
	env         []string
}

const (
	secretPin     = "918273645"
	secretArchive = "kept.tar.gz"
)

func newSecretRun(t *testing.T, binary, value string, git bool) *secretRun {
	t.Helper()
	outer := "before-" + value + "-after"
	s := &secretRun{t: t, binary: binary, dir: t.TempDir(), value: value, git: git, needles: secretNeedles(value, outer, secretPin, otherSecret(value), printedSecret(value), givenSecret(value))}
	s.env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "PRDRUNNER_VAR_token="+value, "PRDRUNNER_VAR_pin="+secretPin,
		"PRDRUNNER_VAR_outer="+outer, "DEPLOY_TOKEN="+value)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("PRD-001.hcl", secretPipeline)
	write("runner.yaml", "workspace:\n  include: [\"**\"]\n")
	if git {
		for _, args := range []string{"init -q -b main", "add .", "-c user.name=a -c user.email=a@example.com commit -q -m first"} {
			s.run(s.command("git", strings.Fields(args)...), 0)
		}
	}
	for _, name := range []string{"in", "kept"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join("in", fileName(value)), "x")
	write("untracked.txt", "a file with "+value+" in it")
	return s
}

func (s *secretRun) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// run runs a command, and checks that its output leaks nothing and, if want is given, its
// exit code.
func (s *secretRun) run(cmd *exec.Cmd, want ...int) {
	s.t.Helper()
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	s.look("what `"+strings.Join(cmd.Args[1:], " ")+"` shows", out)
	if got := cmd.ProcessState.ExitCode(); len(want) > 0 && got != want[0] {
		s.t.Errorf("%s %q: exit code %d, want %d:\n%s", filepath.Base(cmd.Path), cmd.Args[1:], got, want[0], out)
	}
}

// receiveTraces has the builds send traces to a server that examines them. The function that it returns says
// how many messages have come.
func (s *secretRun) receiveTraces() (received func() int64) {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Error(err)
		}
		n.Add(1)
		s.look("the trace that a build sends", body)
	}))
	s.t.Cleanup(server.Close)
	s.env = append(s.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)
	return n.Load
}

// look reports every needle that data contains.
func (s *secretRun) look(where string, data []byte) {
	s.t.Helper()
	for _, needle := range s.needles {
		if i := bytes.Index(data, []byte(needle)); i >= 0 {
			s.t.Errorf("%.200q holds %q: …%s…", where, needle, data[max(0, i-80):min(len(data), i+len(needle)+40)])
		}
	}
}

// everyCommand runs commands that record something, with the value in their texts, and
// commands that show something.
func (s *secretRun) everyCommand() {
	s.t.Helper()
	said := "because of " + s.value
	traces := s.receiveTraces()
	for _, step := range []struct {
		args []string
		exit int
	}{
		{[]string{"build", "PRD-001", "--keep-going", "--output", "plain", "-v", "--var", "token=" + s.value}, 1},
		{[]string{"resolve", "PRD-001", "once", "--rerun", "-m", said}, 0},
		{[]string{"build", "PRD-001", "--keep-going", "--output", "json", "--resume"}, 1},
		{[]string{"approve", "PRD-001", "-m", said}, 0},
		{[]string{"checkpoint", "create", "PRD-001", "-m", said}, 0},
		{[]string{"build", "PRD-001", "--keep-going", "--resume", "--log-level", "trace"}, 1},
		{[]string{"checkpoint", "rollback", "PRD-001", "0", "--yes"}, 0},
		{[]string{"checkpoint", "export", "PRD-001", "--logs", "-o", secretArchive}, 0},
	} {
		s.run(s.command(s.binary, step.args...), step.exit)
	}
	if traces() == 0 {
		s.t.Error("no build has sent a trace")
	}
	for _, line := range []string{
		"why PRD-001 prints", "why PRD-001 prints --json", "why PRD-001 given", "why PRD-001 once --json", "outputs PRD-001", "outputs PRD-001 --json", "outputs PRD-001 gives token",
		"history PRD-001 --json", "diff PRD-001 latest latest", "watch PRD-001 --all", "watch PRD-001 --output json",
		"status", "status PRD-001", "status PRD-001 --json", "plan PRD-001 --resume", "plan PRD-001 --resume --json", "logs PRD-001", "logs PRD-001 prints --raw",
		"logs PRD-001 prints --attempt 1", "logs PRD-001 reads", "checkpoint list PRD-001", "checkpoint list PRD-001 --json", "checkpoint show PRD-001 1 --json", "checkpoint show PRD-001",
		"checkpoint diff PRD-001 1 latest", "checkpoint diff PRD-001 1 latest --json", "checkpoint validate PRD-001 --deep", "graph PRD-001", "validate PRD-001 --json", "config", "plan PRD-001 --resume -o plan.json",
	} {
		s.run(s.command(s.binary, strings.Fields(line)...))
	}
}

// search checks that no file of the state, no archive and no git object leaks a value,
// neither as it is nor decompressed.
func (s *secretRun) search() {
	s.t.Helper()
	s.searchFiles()
	s.betrayed()
	if s.git {
		all, err := s.command("git", "cat-file", "--batch-all-objects", "--batch").Output()
		if err != nil || len(all) == 0 {
			s.t.Fatalf("read git's objects: %d bytes, %v", len(all), err)
		}
		s.look("git's objects", all)
	}
}

func (s *secretRun) searchFiles() {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.dir, path)
		ours := strings.HasPrefix(rel, ".runner"+string(filepath.Separator))
		if !ours && rel != secretArchive && rel != "plan.json" {
			return nil
		}
		s.look("the name of a file", []byte(rel))
		if e.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			s.look("the link "+rel, []byte(target))
			return err
		}
		if !e.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		s.unpack(rel, data)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// betrayed checks that every part of the pipeline did leak the value, and that Runner
// masked it.
func (s *secretRun) betrayed() {
	s.t.Helper()
	state := filepath.Join(s.dir, ".runner")
	for _, name := range []string{"prints", "prints.judge", "reads", "dotenv", "dotenv.judge", "resolves", "resolves.judge", "given", "counts", "fails", "once", "once..verify", "refused.judge", "hook.failed.1", "hook.failed.2"} {
		log, err := os.ReadFile(filepath.Join(state, "PRD-001", "logs", name+".1.log"))
		if err != nil || !bytes.Contains(log, []byte("***")) {
			s.t.Errorf("the log of %s is %.200q: %v", name, log, err)
		}
	}
	journal, err := os.ReadFile(filepath.Join(state, "PRD-001", "journal.jsonl"))
	for _, part := range []string{
		`"kind":"processes.ended"`, `begun; sleep 300; : ***"`, `"message":"bad token ***"`, `no-such-program-***`, `"reason":"because of ***"`, `"comment":"because of ***"`,
		`"number":"***"`, `"summary":"made with ***`,
	} {
		if err != nil || !bytes.Contains(journal, []byte(part)) {
			s.t.Errorf("the journal does not contain %s: %v", part, err)
		}
	}
	if audit, err := os.ReadFile(filepath.Join(state, "audit.log")); err != nil || !bytes.Contains(audit, []byte(`token=***`)) {
		s.t.Errorf("the audit log holds no masked argument: %v\n%s", err, audit)
	}
}

// unpack checks that data leaks nothing. It also checks the content of compressed data
// and of tar archives.
func (s *secretRun) unpack(where string, data []byte) {
	s.t.Helper()
	s.look(where, data)
	switch {
	case bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r, err := zstd.NewReader(bytes.NewReader(data))
		if err != nil {
			s.t.Fatal(err)
		}
		defer r.Close()
		s.unpackFrom(where+", decompressed", r)
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			s.t.Fatal(err)
		}
		s.unpackFrom(where+", decompressed", r)
	case len(data) > 262 && string(data[257:262]) == "ustar":
		for r := tar.NewReader(bytes.NewReader(data)); ; {
			h, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				s.t.Fatal(err)
			}
			s.look("a name in "+where, []byte(h.Name))
			s.unpackFrom(where+": "+h.Name, r)
		}
	}
}

func (s *secretRun) unpackFrom(where string, r io.Reader) {
	s.t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.unpack(where, data)
}
