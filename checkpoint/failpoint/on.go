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

// point is the configured fault.
type point struct {
	action string
	err    error // for an action that returns an error
	delay  time.Duration
	at     int
	on     bool   // also at all later operations
	ops    []Op   // nil counts all operations that change a disk
	file   string // base name of the file; "" for any

	mu      sync.Mutex
	counted int
	log     *os.File
}

// All operations of the process share one count.
var set = sync.OnceValue(func() *point { //nolint:gochecknoglobals // it is there in programs under test only
	p, err := fromEnvironment()
	if err != nil {
		panic(err)
	}
	return p
})

// fromEnvironment returns the fault that the environment selects, and opens its log.
func fromEnvironment() (*point, error) {
	p, err := parsePoint(os.Getenv("RUNNER_FAILPOINT"))
	if err == nil && os.Getenv("RUNNER_FAILPOINT_LOG") != "" {
		p.log, err = os.OpenFile(os.Getenv("RUNNER_FAILPOINT_LOG"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return p, err
}

// Before is called before an operation. If it returns an error, the caller returns that
// instead of performing the operation.
func Before(op Op, name string) error { return set().before(op, name, nil) }

// BeforeWrite is called before a write. The function half performs the first half of the
// write.
func BeforeWrite(name string, half func()) error { return set().before(Write, name, half) }

func parsePoint(s string) (*point, error) {
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

// before counts an operation, and performs the action if it is due.
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
		killSelf()
	case "cut1":
		cutPower(1)
	case "cut2":
		cutPower(2)
	case "delay":
		time.Sleep(p.delay)
	case "SIGINT":
		sendSignal(syscall.SIGINT)
	case "SIGTERM":
		sendSignal(syscall.SIGTERM)
	case "SIGQUIT":
		sendSignal(syscall.SIGQUIT)
		select {} // holding p.mu, so that no operation follows
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

// ask sends a signal to this process, and returns when it has been delivered.
func sendSignal(sig syscall.Signal) {
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

// kill ends this process by SIGKILL. The caller holds p.mu, so that no other operation
// begins.
func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}
