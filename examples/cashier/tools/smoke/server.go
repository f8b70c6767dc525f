package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// server is a running cashierd.
type server struct {
	process *exec.Cmd
	url     string
	rest    chan struct{} // closed when its output has ended
}

// startServer starts the binary on a free port and waits until it says which.
// The server ends with ctx.
func startServer(ctx context.Context, binary, database, webhook, secret string) (*server, error) {
	process := exec.CommandContext(ctx, binary,
		"-database", database, "-listen", "127.0.0.1:0", "-webhook", webhook, "-interval", "10ms", "-until-stdin-ends")
	process.Env = append(os.Environ(), "CASHIER_WEBHOOK_SECRET="+secret)
	process.Stderr = os.Stderr
	process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) }
	process.WaitDelay = 5 * time.Second
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	// Nothing is ever written to it: it is closed when the process has been
	// waited for, or when we are killed, and then ends the server.
	if _, err := process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	s := &server{process: process, rest: make(chan struct{})}
	lines := bufio.NewReader(output)
	line, err := lines.ReadString('\n')
	go func() {
		defer close(s.rest)
		_, _ = io.Copy(io.Discard, lines)
	}()
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("the server did not say where it listens: %q", line), s.stop())
	}
	s.url = url
	return s, nil
}

// stop asks the server to end, and expects it to do so in good order.
func (s *server) stop() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the server: %w", err)
	}
	<-s.rest
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("the server did not end well: %w", err)
	}
	return nil
}
