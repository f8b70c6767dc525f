// Package probe finds out whether a service is ready: whether its port accepts connections, a
// URL answers, or its output has a text. It also finds a free port. What follows from that is
// decided in package runner.
//
// Begin with Until, which repeats a check.
package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// answerTimeout bounds a single check, so that a peer that accepts a connection and says
// nothing does not hold up the next one.
const answerTimeout = 5 * time.Second

// Until calls check, with a pause of interval between two calls, until it returns nil or ctx
// ends. Then it returns the last error of check.
func Until(ctx context.Context, interval time.Duration, check func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// FreePort returns a TCP port of this machine that no process uses.
func FreePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("find a free port: the system gave no TCP address")
	}
	return address.Port, nil
}

// TCP returns an error unless a process of this machine accepts connections to a port.
func TCP(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(port)))
	if err != nil {
		return err //nolint:wrapcheck // it names the address
	}
	_ = c.Close() // nothing was sent
	return nil
}

// HTTP returns an error unless a GET of a URL gives a status below 400.
func HTTP(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("check the URL: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return err //nolint:wrapcheck // it names the URL
	}
	_ = answer.Body.Close() // only the status counts
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}

// Log searches the output of a process for a text. It reads on where it ended.
type Log struct {
	Path string
	Text string

	offset int64
	tail   []byte // the end of what was read, which may be the beginning of the text
}

// Check returns an error unless the output has the text.
func (l *Log) Check(context.Context) error {
	f, err := os.Open(l.Path)
	if err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	defer func() { _ = f.Close() }()
	more, err := io.ReadAll(io.NewSectionReader(f, l.offset, 1<<62))
	if err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	l.offset += int64(len(more))
	all := append(l.tail, more...)
	if bytes.Contains(all, []byte(l.Text)) {
		return nil
	}
	l.tail = bytes.Clone(all[max(0, len(all)-len(l.Text)+1):])
	return fmt.Errorf("its output does not have %q", l.Text)
}
