package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// session is a program that runs at a pseudo-terminal.
type session struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd

	mu     sync.Mutex
	shown  bytes.Buffer
	seen   int           // how many bytes of shown expect has passed
	grown  chan struct{} // receives a value when shown has grown
	closed chan struct{} // closed when no program has the terminal open
}

// atTerminal starts runner in a directory, at a terminal.
func atTerminal(t *testing.T, dir string, args ...string) *session {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "runner", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	return startAtTerminal(t, cmd)
}

// startAtTerminal starts a program with a terminal as its standard streams and
// its controlling terminal.
func startAtTerminal(t *testing.T, cmd *exec.Cmd) *session {
	t.Helper()
	master, slave := openPty(t)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, master: master, cmd: cmd, grown: make(chan struct{}, 1), closed: make(chan struct{})}
	go s.read()
	t.Cleanup(func() {
		_ = master.Close()
		<-s.closed
	})
	return s
}

func openPty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		skipUnlessCI(t, fmt.Sprint("there are no pseudo-terminals here: ", err))
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	// Fd may set the descriptor to blocking mode, in which Close does not end a Read.
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func (s *session) read() {
	defer close(s.closed)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.shown.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.grown <- struct{}{}:
		default:
		}
		if err != nil && !errors.Is(err, syscall.EAGAIN) {
			return
		}
	}
}

// expect waits until the program shows a text, after the texts of earlier calls.
func (s *session) expect(text string) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		if s.find(text) {
			return
		}
		select {
		case <-s.grown:
		case <-s.closed:
			if !s.find(text) {
				s.t.Fatalf("the program ended without showing %q; shown:\n%s", text, s.all())
			}
			return
		case <-deadline:
			s.t.Fatalf("%q was not shown; shown:\n%s", text, s.all())
		}
	}
}

func (s *session) find(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := strings.Index(s.shown.String()[s.seen:], text)
	if i < 0 {
		return false
	}
	s.seen += i + len(text)
	return true
}

func (s *session) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// send types text.
func (s *session) send(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// exits waits for the end of the program and checks its exit code.
func (s *session) exits(want int) {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-ended
		s.t.Fatalf("the program does not end; shown:\n%s", s.all())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != want {
		s.t.Fatalf("exit code %d instead of %d; shown:\n%s", got, want, s.all())
	}
}
