//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// point is what is to happen, and when.
type point struct {
	action string
	err    error // for an action that is one
	delay  time.Duration
	at     int
	on     bool   // and at all that follow
	ops    []Op   // none: all that change something
	file   string // the last part of its name; "": any

	mu      sync.Mutex
	counted int
	log     *os.File
}

// The process has one count, since a moment of it is meant.
var set = sync.OnceValue(func() *point { //nolint:gochecknoglobals // it is there in programs under test only
	p, err := parse(os.Getenv("RUNNER_FAILPOINT"))
	if err == nil && os.Getenv("RUNNER_FAILPOINT_LOG") != "" {
		p.log, err = os.OpenFile(os.Getenv("RUNNER_FAILPOINT_LOG"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err != nil {
		panic(err)
	}
	return p
})

// Before is called before an operation. An error is returned in its place.
func Before(op Op, name string) error { return set().before(op, name, nil) }

// BeforeWrite is Before for a write, of which half may happen.
func BeforeWrite(name string, half func()) error { return set().before(Write, name, half) }

func parse(s string) (*point, error) {
	p := &point{}
	if s == "" {
		return p, nil
	}
	what, ops, named := strings.Cut(s, ":")
	if named {
		ops, p.file, _ = strings.Cut(ops, "/")
		for _, op := range strings.Split(ops, ",") {
			p.ops = append(p.ops, Op(op))
		}
	}
	action, at, _ := strings.Cut(what, "@")
	at, p.on = strings.CutSuffix(at, "+")
	n, err := strconv.Atoi(at)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("RUNNER_FAILPOINT=%s: want ACTION@N[+][:OP,...[/FILE]]", s)
	}
	p.action, p.at = action, n
	if delay, ok := strings.CutPrefix(action, "delay="); ok {
		p.action = "delay"
		p.delay, err = time.ParseDuration(delay)
		return p, err
	}
	switch action {
	case "kill", "torn", "cut1", "cut2", "SIGINT", "SIGTERM", "SIGQUIT":
		return p, nil
	}
	named, p.err = true, errorNamed(action)
	if p.err == nil {
		return nil, fmt.Errorf("RUNNER_FAILPOINT=%s: there is no action %q", s, action)
	}
	return p, nil
}

func errorNamed(name string) error {
	switch name {
	case "EIO":
		return syscall.EIO
	case "ENOSPC":
		return syscall.ENOSPC
	case "EDQUOT":
		return syscall.EDQUOT
	case "EROFS":
		return syscall.EROFS
	case "EMFILE":
		return syscall.EMFILE
	}
	return nil
}

// before counts an operation, and has happen what is to happen at it.
func (p *point) before(op Op, name string, half func()) error {
	if !p.counts(op) || p.file != "" && filepath.Base(name) != p.file {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted++
	hit := p.action != "" && (p.counted == p.at || p.on && p.counted > p.at)
	if p.log != nil {
		fmt.Fprintf(p.log, "%d %s %s\n", p.counted, op, name)
	}
	if !hit {
		return nil
	}
	if half != nil && (p.action == "torn" || p.err != nil) {
		half()
	}
	switch p.action {
	case "kill", "torn":
		kill()
	case "cut1":
		cut(1)
	case "cut2":
		cut(2)
	case "delay":
		time.Sleep(p.delay)
	case "SIGINT":
		ask(syscall.SIGINT)
	case "SIGTERM":
		ask(syscall.SIGTERM)
	case "SIGQUIT":
		ask(syscall.SIGQUIT)
		select {} // the caller holds the count
	}
	return p.err
}

func (p *point) counts(op Op) bool {
	if p.ops != nil {
		return slices.Contains(p.ops, op)
	}
	switch op {
	case Open, Read, ReadDir, Lstat:
		return false
	}
	return true
}

// ask sends this process a signal that asks it to end, and returns when that
// has been delivered.
func ask(sig syscall.Signal) {
	delivered := make(chan os.Signal, 1)
	signal.Notify(delivered, sig)
	defer signal.Stop(delivered)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(sig)
	}
	if err != nil {
		panic(err)
	}
	<-delivered
}

// kill ends this process as SIGKILL does. No other operation begins meanwhile:
// the caller holds the count.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}
