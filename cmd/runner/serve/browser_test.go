package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// runner is the program that the tests start, which TestMain builds.
var runner string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "runner")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	runner = filepath.Join(dir, "runner")
	if out, err := exec.Command("go", "build", "-o", runner, "prdrunner/cmd/runner").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// chromium returns the browser of this machine. Without one the test is skipped; in CI it fails.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("there is no chromium")
	}
	t.Skip("there is no chromium")
	return ""
}

// site is a workspace that `runner serve` shows, and a browser that looks at it.
type site struct {
	t    *testing.T
	dir  string
	base string
	ctx  context.Context // of the tab

	mu       sync.Mutex
	mistakes []string // what the browser complained about
}

// served starts the server, and returns its address with the token.
func served(t *testing.T, dir string, args ...string) *url.URL {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), runner, append([]string{"serve"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// tab starts a browser that shows pages below an address.
func tab(t *testing.T, dir, base string) *site {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	s := &site{t: t, dir: dir, base: base, ctx: ctx}
	s.do(func(context.Context, *chromedp.Target) (chromedp.Void, error) { return chromedp.Void{}, nil })
	s.watch()
	return s
}

// open starts the server and the browser, and enters with the token.
func open(t *testing.T, dir string, args ...string) *site {
	t.Helper()
	at := served(t, dir, args...)
	s := tab(t, dir, "http://"+at.Host)
	s.do(chromedp.Navigate(at.String()), chromedp.WaitVisible("header"))
	if now := evaluate[string](s, "location.href"); now != s.base+"/" {
		t.Fatalf("the address is %s after the token", now)
	}
	return s
}

// watch collects errors of the console, exceptions, and requests to other places.
func (s *site) watch() {
	complain := func(format string, args ...any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mistakes = append(s.mistakes, fmt.Sprintf(format, args...))
	}
	go func() {
		for e, err := range chromedp.Events(s.ctx, cdpruntime.ExceptionThrown) {
			if err != nil {
				return
			}
			complain("exception: %v", e.ExceptionDetails)
		}
	}()
	go func() {
		for e, err := range chromedp.Events(s.ctx, cdpruntime.ConsoleAPICalled) {
			if err != nil {
				return
			}
			if e.Type == cdpruntime.ConsoleAPICalledTypeError {
				complain("console: %v", e.Args)
			}
		}
	}()
	go func() {
		for e, err := range chromedp.Events(s.ctx, cdplog.EntryAdded) {
			if err != nil {
				return
			}
			if e.Entry.Level == cdplog.EntryLevelError {
				complain("log: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	}()
	go func() {
		for e, err := range chromedp.Events(s.ctx, network.RequestWillBeSent) {
			if err != nil {
				return
			}
			if to := e.Request.URL; !strings.HasPrefix(to, s.base+"/") && !strings.HasPrefix(to, "data:") {
				complain("request to %s", to)
			}
		}
	}()
}

// calm fails the test if the browser has complained.
func (s *site) calm() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, mistake := range s.mistakes {
		s.t.Error(mistake)
	}
	s.mistakes = nil
}

// refused lets the browser have complained about the status of an answer.
func (s *site) refused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mistakes = slices.DeleteFunc(s.mistakes, func(m string) bool { return strings.Contains(m, "the server responded with a status of 4") })
}

func (s *site) do(steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	if err := chromedp.Do(s.ctx, steps...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) visit(path string) {
	s.t.Helper()
	s.do(chromedp.Navigate(s.base+path), chromedp.WaitReady("main"))
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](s *site, expression string) T {
	s.t.Helper()
	v, err := chromedp.Run(s.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		s.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression in the page is true.
func (s *site) until(expression string) {
	s.t.Helper()
	for s.ctx.Err() == nil {
		if ok, err := chromedp.Run(s.ctx, chromedp.Evaluate[bool](expression)); ok && err == nil { // while a page is left, there is nothing to ask
			return
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.t.Fatalf("%s does not become true", expression)
}

// theme makes the browser prefer light or dark pages.
func (s *site) theme(name string) {
	s.t.Helper()
	s.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return chromedp.Void{}, err
	})
}

// scripts turns JavaScript on or off.
func (s *site) scripts(on bool) {
	s.t.Helper()
	s.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return chromedp.Void{}, err
	})
}

// picture keeps a picture of the page for people to look at.
func (s *site) picture(name string) {
	s.t.Helper()
	data, err := chromedp.Run(s.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.t.ArtifactDir(), name+".png"), data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// workspace returns a directory with a pipeline.
func workspace(t *testing.T, source string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// exits runs a command, which must end with an exit code.
func exits(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), runner, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("%q exits %d, want %d\n%s", args, got, want, out)
	}
	return string(out)
}
