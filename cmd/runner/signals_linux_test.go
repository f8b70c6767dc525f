package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prdrunner/cmd/runner/cli"
)

// The workstream of politePipeline writes the file asked and ends when it gets SIGTERM.
// The workstream of stubbornPipeline writes the file and keeps running.
const (
	politePipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" {
      script = <<-EOT
        trap "echo asked > asked; exit 1" TERM
        test ! -e go || exit 0
        echo $$ > pid.tmp; mv pid.tmp pid || :
        until test -e go; do sleep 0.02 || :; done
      EOT
    }
  }
}`
	stubbornPipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" {
      script = <<-EOT
        trap "echo asked > asked" TERM
        echo $$ > pid.tmp
        mv pid.tmp pid || : # which may be ended itself once the file is there
        while :; do sleep 0.02 || :; done
      EOT
    }
  }
}`
)

// TestSignalStopsARunGracefully sends a signal to a build. The build must ask its
// workstream to end, wait for the end, make a checkpoint and report the signal. The next
// build must complete the session.
func TestSignalStopsARunGracefully(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		name   string
		code   int
	}{
		{syscall.SIGINT, "SIGINT", exitInterrupted},
		{syscall.SIGTERM, "SIGTERM", exitTerminated},
		{syscall.SIGHUP, "SIGHUP", exitTerminated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t, politePipeline)
			l := launch(t, dir, "build", "PRD-001")
			child := awaitPID(t, dir, "pid")
			l.signal(tt.signal)
			l.exits(tt.code)
			if shown := l.stdout.String(); !strings.Contains(shown, "PRD-001 interrupted by "+tt.name) {
				t.Errorf("the build showed %q", shown)
			}
			wantInterrupted(t, dir, child)
			write(t, dir, "go")
			run(t, dir, 0, "build", "PRD-001", "--resume")
		})
	}
}

// TestQuitStopsAtOnce sends SIGQUIT, as Ctrl+\ does, to a build with an hour of grace.
// The build must end its workstream at once, and record and report the signal. It must
// not print the stacks of its goroutines.
func TestQuitStopsAtOnce(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, stubbornPipeline)
	if err := os.WriteFile(filepath.Join(dir, "runner.yaml"), []byte("grace: 1h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := launch(t, dir, "build", "PRD-001")
	child := awaitPID(t, dir, "pid")
	l.signal(syscall.SIGQUIT)
	l.exits(exitQuit)
	if shown := l.stdout.String() + l.stderr.String(); !strings.Contains(shown, "PRD-001 interrupted by SIGQUIT") || strings.Contains(shown, "goroutine") {
		t.Errorf("the build showed %q", shown)
	}
	if isAlive(child) {
		t.Error("the workstream is alive")
	}
	if status := run(t, dir, 0, "status", "PRD-001"); !strings.Contains(status, "paused (interrupted)") {
		t.Errorf("the status is\n%s", status)
	}
}

// TestSignalEndsACapture sends a signal to a build that captures a file of 60 GiB. The
// build must end and report that the files are not captured, and the next build must make
// the capture.
func TestSignalEndsACapture(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		name   string
		code   int
	}{
		{syscall.SIGINT, "SIGINT", exitInterrupted},
		{syscall.SIGTERM, "SIGTERM", exitTerminated},
		{syscall.SIGQUIT, "SIGQUIT", exitQuit},
		{syscall.SIGTERM, "SIGTERM in git", exitTerminated},
		{syscall.SIGQUIT, "SIGQUIT in git", exitQuit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t, politePipeline)
			if strings.HasSuffix(tt.name, " in git") {
				if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			big := filepath.Join(dir, "big")
			write(t, dir, "big")
			// The file is sparse. Compressed, it needs little space even if the capture
			// completes.
			config := "workspace:\n  include: [big]\ncheckpoint:\n  storage:\n    compress: true\n"
			if err := errors.Join(os.Truncate(big, 60<<30), os.WriteFile(filepath.Join(dir, "runner.yaml"), []byte(config), 0o600)); err != nil {
				t.Fatal(err)
			}
			l := launch(t, dir, "build", "PRD-001")
			await(t, "the capture has started", func() bool { return isHeld(big) })
			l.signal(tt.signal)
			l.exits(tt.code)
			if isHeld(big) {
				t.Error("the file is still being read")
			}
			if shown := l.stdout.String(); !strings.Contains(shown, "PRD-001 interrupted by "+cli.SignalName(tt.signal)) || !strings.Contains(shown, "the files are not captured") {
				t.Errorf("the build showed %q", shown)
			}
			if status := run(t, dir, 0, "status", "PRD-001"); !strings.Contains(status, "paused (interrupted)") {
				t.Errorf("the status is\n%s", status)
			}
			if err := os.Truncate(big, 1); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "go")
			run(t, dir, 0, "build", "PRD-001", "--resume")
			if list := run(t, dir, 0, "checkpoint", "list", "PRD-001"); strings.Count(list, " start ") != 2 {
				t.Errorf("the list of checkpoints is\n%s", list)
			}
		})
	}
}

// TestSignalEndsACommand sends a signal to a command that reads a file of 60 GiB. The
// command must end soon, name the command that does the rest, and leave the checkpoints
// unchanged. Repeated, the command must succeed.
func TestSignalEndsACommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"checkpoint", "create", "PRD-001"},
		{"checkpoint", "rollback", "PRD-001", "0", "--yes"},
		{"plan", "PRD-001", "--resume"},
		{"build", "PRD-001", "--resume=0", "--yes"},
	} {
		for sig, code := range map[syscall.Signal]int{
			syscall.SIGINT: exitInterrupted, syscall.SIGTERM: exitTerminated, syscall.SIGHUP: exitTerminated, syscall.SIGQUIT: exitQuit,
		} {
			t.Run(strings.Join(args, " ")+" "+cli.SignalName(sig), func(t *testing.T) {
				t.Parallel()
				dir := newWorkspace(t, `pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { script = "test -e go" }
  }
}`)
				big := filepath.Join(dir, "big")
				write(t, dir, "big")
				if err := os.WriteFile(filepath.Join(dir, "runner.yaml"), []byte("workspace:\n  include: [big]\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				run(t, dir, 1, "build", "PRD-001")
				write(t, dir, "go")
				before := run(t, dir, 0, "checkpoint", "list", "PRD-001")
				if err := os.Truncate(big, 60<<30); err != nil {
					t.Fatal(err)
				}
				l := launch(t, dir, args...)
				await(t, "the file is being read", func() bool { return isHeld(big) })
				l.signal(sig)
				told := l.exits(code)
				again := "`runner " + strings.Join(args, " ") + "` does the rest\n"
				if strings.Count(told, "Interrupted by "+cli.SignalName(sig)) != 1 || !strings.HasSuffix(told, again) || strings.Contains(told, "goroutine ") {
					t.Errorf("the command said %q", told)
				}
				if err := os.Truncate(big, 1); err != nil {
					t.Fatal(err)
				}
				if after := run(t, dir, 0, "checkpoint", "list", "PRD-001"); withoutAges(after) != withoutAges(before) {
					t.Errorf("the checkpoints are\n%s\nand were\n%s", after, before)
				}
				run(t, dir, 0, args...)
				run(t, dir, 0, "checkpoint", "validate", "PRD-001", "--deep")
			})
		}
	}
}

// TestSignalEndsWhatWaits sends one signal to commands that wait for more standard input.
// They must end.
func TestSignalEndsWhatWaits(t *testing.T) {
	t.Parallel()
	from := newWorkspace(t, politePipeline)
	config, large := []byte("workspace:\n  include: [large]\n"), make([]byte, 1<<20)
	if err := errors.Join(os.WriteFile(filepath.Join(from, "runner.yaml"), config, 0o600), os.WriteFile(filepath.Join(from, "large"), large, 0o600)); err != nil {
		t.Fatal(err)
	}
	write(t, from, "go")
	run(t, from, 0, "build", "PRD-001")
	run(t, from, 0, "checkpoint", "export", "PRD-001", "-o", "it.tar")
	archive, err := os.ReadFile(filepath.Join(from, "it.tar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, doing string
		args        []string
	}{
		{"import", "`runner checkpoint import -` does the rest", []string{"checkpoint", "import", "-"}},
		{"fmt", "`runner fmt -` does the rest", []string{"fmt", "-"}},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT} {
			t.Run(tt.name+" "+cli.SignalName(sig), func(t *testing.T) {
				t.Parallel()
				in, out, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = out.Close() })
				cmd := exec.CommandContext(t.Context(), "runner", tt.args...)
				cmd.Stdin = in
				l := launchCommand(t, t.TempDir(), cmd)
				_ = in.Close()                                                 // the command has its own copy
				if _, err := out.Write(archive[:len(archive)/2]); err != nil { // more than a pipe holds: the command is reading
					t.Fatal(err)
				}
				l.signal(sig)
				told := l.exits(endedCode(&endedError{signal: cli.SignalName(sig)}))
				if !strings.HasPrefix(told, "Interrupted by "+cli.SignalName(sig)) || !strings.Contains(told, tt.doing) {
					t.Errorf("the command said %q", told)
				}
			})
		}
	}
}

// TestNobodyReadsOfAnInterruption sends signals to a command whose standard error is a
// full pipe that no process reads. The command must end nevertheless.
func TestNobodyReadsOfAnInterruption(t *testing.T) {
	t.Parallel()
	for _, signals := range [][]syscall.Signal{{syscall.SIGTERM, syscall.SIGTERM}, {syscall.SIGQUIT}} {
		last := signals[len(signals)-1]
		t.Run(fmt.Sprint(len(signals), " ", cli.SignalName(last)), func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t, politePipeline)
			big := filepath.Join(dir, "big")
			write(t, dir, "go")
			write(t, dir, "big")
			if err := os.WriteFile(filepath.Join(dir, "runner.yaml"), []byte("workspace:\n  include: [big]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, dir, 0, "build", "PRD-001")
			if err := os.Truncate(big, 60<<30); err != nil {
				t.Fatal(err)
			}
			read, full, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = read.Close() })
			if err := full.SetWriteDeadline(time.Now()); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = full.Write(make([]byte, 1<<10))
			}
			cmd := exec.CommandContext(t.Context(), "runner", "checkpoint", "create", "PRD-001")
			cmd.Stderr = full
			l := launchCommand(t, dir, cmd)
			await(t, "the file is being read", func() bool { return isHeld(big) })
			for _, sig := range signals {
				l.signal(sig)
			}
			l.exits(endedCode(&endedError{signal: cli.SignalName(last)}))
		})
	}
}

// isHeld reports whether any process has a file open, Runner or git.
func isHeld(file string) bool {
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	return err == nil && slices.ContainsFunc(fds, func(fd string) bool {
		target, err := os.Readlink(fd)
		return err == nil && target == file
	})
}

// wantInterrupted checks that a build was stopped gracefully: its workstream was asked to
// end and has ended, the session is paused, and there is a checkpoint of the
// interruption.
func wantInterrupted(t *testing.T, dir string, child int) {
	t.Helper()
	if isAlive(child) {
		t.Error("the workstream is alive")
	}
	if lines(t, dir, "asked") != 1 {
		t.Error("the workstream was not asked to end")
	}
	if status := run(t, dir, 0, "status", "PRD-001"); !strings.Contains(status, "paused (interrupted)") {
		t.Errorf("the status is\n%s", status)
	}
	if list := run(t, dir, 0, "checkpoint", "list", "PRD-001"); strings.Count(list, "user_interrupt") != 1 {
		t.Errorf("the list of checkpoints is\n%s", list)
	}
}

// TestRunThatIgnoresHangupsGoesOn sends SIGHUP to a build that nohup started. The build
// must continue.
func TestRunThatIgnoresHangupsGoesOn(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, politePipeline)
	l := launchCommand(t, dir, exec.CommandContext(t.Context(), "nohup", "runner", "build", "PRD-001"))
	child := awaitPID(t, dir, "pid")
	for range 3 {
		l.signal(syscall.SIGHUP)
	}
	run(t, dir, 0, "checkpoint", "create", "PRD-001") // the running build does this, after it got the signals
	if !isAlive(child) {
		t.Error("the hangup ended the workstream")
	}
	write(t, dir, "go")
	l.exits(0)
}

// TestCtrlC types Ctrl+C at the terminal of a build. The first one must stop the build
// gracefully, a second one at once. When the terminal closes, the build must stop
// gracefully, although it can't show anything.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		dir := newWorkspace(t, politePipeline)
		s := atTerminal(t, dir, "build", "PRD-001")
		child := awaitPID(t, dir, "pid")
		s.send(ctrlC)
		s.expect("PRD-001 interrupted by SIGINT")
		s.exits(exitInterrupted)
		wantInterrupted(t, dir, child)
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		dir := newWorkspace(t, stubbornPipeline)
		if err := os.WriteFile(filepath.Join(dir, "runner.yaml"), []byte("grace: 1h\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := atTerminal(t, dir, "build", "PRD-001")
		child := awaitPID(t, dir, "pid")
		s.send(ctrlC)
		awaitFile(t, dir, "asked")
		if !isAlive(child) {
			t.Error("the workstream was killed, although the grace is an hour")
		}
		s.send(ctrlC)
		s.exits(exitInterrupted)
		wantInterrupted(t, dir, child)
	})
	t.Run("hangup", func(t *testing.T) {
		t.Parallel()
		dir := newWorkspace(t, politePipeline)
		s := atTerminal(t, dir, "build", "PRD-001")
		child := awaitPID(t, dir, "pid")
		if err := s.master.Close(); err != nil {
			t.Fatal(err)
		}
		s.exits(exitTerminated)
		wantInterrupted(t, dir, child)
	})
}
