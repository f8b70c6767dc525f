//go:build unix

package process_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner/process"
)

// shell is a command that runs a script.
func shell(t *testing.T, script string, out io.Writer) git.Command {
	t.Helper()
	return git.Command{Args: []string{"sh", "-c", script}, Dir: t.TempDir(), Stdout: out}
}

func TestCommanderEnvironment(t *testing.T) {
	t.Parallel()
	c := process.NewCommander([]string{
		"PATH=" + os.Getenv("PATH"), "GIT_DIR=/x", "KEPT=base", "CHANGED=base", "LC_ALL=de_DE.UTF-8",
	})
	var out bytes.Buffer
	command := shell(t, `echo "${GIT_DIR-unset} $KEPT $CHANGED $LC_ALL $HOME|"; cat; pwd -P`, &out)
	command.Unset, command.Env = []string{"GIT_DIR"}, []string{"CHANGED=twice", "CHANGED=here"}
	command.Stdin = strings.NewReader("stdin\n")
	if err := c.Run(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(command.Dir)
	if want := "unset base here C |\nstdin\n" + dir + "\n"; out.String() != want || err != nil {
		t.Errorf("got %q, want %q", &out, want)
	}
}

func TestCommanderFailures(t *testing.T) {
	t.Parallel()
	c := process.NewCommander(os.Environ())
	var exit *git.ExitError
	err := c.Run(t.Context(), shell(t, "head -c 9000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 7", nil))
	if !errors.As(err, &exit) || exit.Code != 7 || len(exit.Stderr) != 4<<10 || !strings.HasSuffix(exit.Stderr, "xend\n") {
		t.Errorf("exit 7: %v", err)
	}
	exit = nil
	if err := c.Run(t.Context(), shell(t, "kill -9 $$", nil)); !errors.As(err, &exit) || exit.Code != -1 {
		t.Errorf("ended by a signal: %v", err)
	}
	command := git.Command{Args: []string{"no-such-program"}, Dir: t.TempDir()}
	if err := c.Run(t.Context(), command); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("not found: %v", err)
	}
	command = shell(t, "true", nil)
	command.Dir = filepath.Join(command.Dir, "gone")
	if err := c.Run(t.Context(), command); err == nil || errors.Is(err, exec.ErrNotFound) {
		t.Errorf("no directory: %v", err)
	}
	if err := c.Run(t.Context(), git.Command{}); err == nil {
		t.Error("an empty command was run")
	}
}

// TestCommanderStops cancels the context of a command. The command and its children end,
// even if the command ignores SIGTERM.
func TestCommanderStops(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	c := process.NewCommander(os.Environ())
	for name, script := range map[string]string{
		"gently": `sleep 1000 & echo $!; wait`,
		"killed": `trap "" TERM; sleep 1000 & echo $!; while :; do wait; done`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- c.Run(ctx, shell(t, script, write))
			write.Close()
		}()
		line := make([]byte, 32)
		n, err := read.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		var exit *git.ExitError
		if err := <-ended; !errors.Is(err, context.Canceled) || !errors.As(err, &exit) || exit.Code != -1 {
			t.Errorf("%s: %v", name, err)
		}
		read.Close()
		awaitGone(t, child)
	}
	goleak.VerifyNone(t, ignore)
}

// TestCommanderLeavesNothing: processes that a command leaves in its group end with the
// command, and do not delay it.
func TestCommanderLeavesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets a process be waited for without being collected")
	}
	c := process.NewCommander(os.Environ())
	var out bytes.Buffer
	started := time.Now()
	if err := c.Run(t.Context(), shell(t, "sleep 1000 & echo $!", &out)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("the command took %v", took)
	}
	child, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	awaitGone(t, child)
}

// awaitGone returns when a process has ended: it does not exist, or is a zombie, since no
// parent may be left to reap it.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still alive", pid)
}
