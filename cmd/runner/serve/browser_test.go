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

// open starts the server and the browser, and enters with the token.
func open(t *testing.T, dir string, args ...string) *site {
	t.Helper()
	path := chromium(t)
	at := served(t, dir, args...)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	s := &site{t: t, dir: dir, base: "http://" + at.Host, ctx: ctx}
	s.do(func(context.Context, *chromedp.Target) (chromedp.Void, error) { return chromedp.Void{}, nil })
	s.watch()
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

// many has everything that a page can show: instances, a failure that is allowed, gates of all kinds, metrics, outputs and an approval.
const many = `
pipeline "PRD-001" {
  title = "All that a page shows"

  phase "prepare" {
    workstream "sources" {
      script    = "cat in/*.txt > all.txt; echo lines=$(wc -l < all.txt) >> $RUNNER_OUTPUT; echo metric.lines=$(wc -l < all.txt) >> $RUNNER_OUTPUT"
      inputs    = ["in/*.txt"]
      artifacts = ["all.txt"]
      gate "not-empty" { command = ["test", "-s", "all.txt"] }
      gate "enough" {
        metric = "lines"
        min    = 1
      }
    }
    workstream "part" {
      for_each   = toset(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"])
      depends_on = [workstream.sources]
      script     = "echo ${each.key}"
    }
    workstream "lint" {
      script        = "echo 'in/a.txt:1: error: a line with <b>markup</b> & \"quotes\"'; exit 1"
      allow_failure = true
      retry {
        attempts         = 2
        initial_interval = "1ms"
      }
    }
  }

  phase "publish" {
    workstream "archive" {
      depends_on = [workstream.sources]
      command    = ["tar", "-cf", "all.tar", "all.txt"]
      inputs     = ["all.txt"]
      artifacts  = ["all.tar"]
    }
    gate "sign-off" {
      approval {
        message = "Publish all.tar?"
        input "channel" {
          options = ["beta", "stable"]
          default = "beta"
        }
      }
    }
  }
}
`

// TestLooks visits each view in both themes and at three widths: nothing is wider than the screen, each control has a name,
// texts can be read, and the browser has nothing to complain about.
func TestLooks(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, many, map[string]string{"in/a.txt": "a line\n", "in/b.txt": "another\n"})
	exits(t, dir, 3, "build", "PRD-001")
	if err := os.WriteFile(filepath.Join(dir, "in/a.txt"), []byte("a line\nand more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exits(t, dir, 3, "build", "PRD-001", "--resume")
	id := strings.Fields(strings.Split(exits(t, dir, 0, "checkpoint", "list", "PRD-001", "--json"), `"id": "`)[1])[0]
	id = strings.TrimRight(id, `",`)
	s := open(t, dir)
	views := map[string]string{
		"home": "/", "session": "/prd/PRD-001", "step": "/prd/PRD-001/step/lint", "plan": "/prd/PRD-001/plan", "logs": "/prd/PRD-001/logs", "history": "/prd/PRD-001/history",
		"checkpoint": "/prd/PRD-001/checkpoint/" + id, "difference": "/prd/PRD-001/checkpoint/" + id + "/diff", "rollback": "/prd/PRD-001/checkpoint/" + id + "/rollback",
		"safety": "/safety", "manual": "/manual", "concepts": "/manual/concepts", "comparison": "/manual/comparison", "nothing": "/prd/PRD-999",
	}
	for _, theme := range []string{"light", "dark"} {
		s.theme(theme)
		for _, width := range []int64{360, 1280, 2560} {
			s.do(chromedp.EmulateViewport(width, 900))
			for name, path := range views {
				s.visit(path)
				if name == "nothing" { // the page says that there is none, and the browser logs the status
					s.mu.Lock()
					s.mistakes = slices.DeleteFunc(s.mistakes, func(m string) bool { return strings.Contains(m, "404") })
					s.mu.Unlock()
				}
				at := fmt.Sprintf("%s, %s, %d wide", name, theme, width)
				for _, problem := range evaluate[[]string](s, audit) {
					t.Errorf("%s: %s", at, problem)
				}
				if name == "session" || width == 1280 {
					s.picture(fmt.Sprintf("%s-%s-%d", name, theme, width))
				}
			}
		}
	}
	s.calm()
}

// audit finds what makes a page hard to use: what is wider than the screen, controls and pictures without a name, ids that are not
// the only one, no language, title or main heading, and texts whose contrast is below that of WCAG AA.
const audit = `(() => {
  const found = [];
  const about = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + " " + (e.textContent || "").trim().slice(0, 40);
  const root = document.scrollingElement;
  if (root.scrollWidth > root.clientWidth + 1) {
    const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".wide, .picture, pre, table"));
    found.push("wider than the screen by " + (root.scrollWidth - root.clientWidth) + ": " + wide.slice(0, 3).map(about).join("; "));
  }
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title) found.push("no title");
  if (document.querySelectorAll("h1").length !== 1) found.push(document.querySelectorAll("h1").length + " main headings");
  if (!document.querySelector("main")) found.push("no main part");
  const ids = {};
  for (const e of document.querySelectorAll("[id]")) { if (ids[e.id]) found.push("two elements with the id " + e.id); ids[e.id] = true; }
  for (const e of document.querySelectorAll("a[href^='#']")) {
    const to = e.getAttribute("href").slice(1);
    if (!document.getElementById(to) && !document.getElementById(decodeURIComponent(to))) found.push("a link to nothing: #" + to);
  }
  const named = e => (e.getAttribute("aria-label") || e.textContent || e.title || (e.labels && e.labels[0] && e.labels[0].textContent) || "").trim();
  for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [role=group], [role=img]")) if (e.checkVisibility() && !named(e)) found.push("no name: " + e.outerHTML.slice(0, 120));
  for (const e of document.querySelectorAll("th")) if (!e.scope && e.closest("thead") && !e.closest(".manual")) found.push("a heading of a table without a scope: " + about(e));
  const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = text => { const n = text.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const ground = e => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e.checkVisibility() || e.closest("svg, script, style, [hidden]")) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const a = luminance(parse(style.color)), b = luminance(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const least = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
    const key = style.color + ground(e);
    if (ratio < least && !seen.has(key)) { seen.add(key); found.push("contrast " + ratio.toFixed(2) + ": " + about(e)); }
  }
  return found;
})()`

// TestLive: a page shows what a run does while it goes on, and takes an approval.
func TestLive(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "wait" {
      script = "echo begun; until test -e go; do sleep 0.05; done; echo ended"
    }
    gate "sign-off" {
      approval { message = "Go on?" }
    }
  }
}
`, nil)
	build := exec.CommandContext(t.Context(), runner, "build", "PRD-001")
	build.Dir = dir
	if err := build.Start(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	s.until(`!!document.querySelector("table a")`)
	s.visit("/prd/PRD-001")
	s.until(`document.querySelector("#step-wait .run") !== null`)
	s.until(`document.getElementById("live").textContent.includes("live")`)
	evaluate[bool](s, `window.same = true`)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until(`document.querySelector("#step-wait .ok") !== null && document.getElementById("result").textContent.includes("paused")`)
	s.until(`document.querySelector("button[value=approve]") !== null`)
	if !evaluate[bool](s, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	_ = build.Wait()
	s.picture("waiting")
	s.do(chromedp.SendKeys("#waiting input[name=message]", "seen in a browser"), chromedp.Click("button[value=approve]"))
	s.until(`document.body.textContent.includes("Approved sign-off")`)
	exits(t, dir, 0, "build", "PRD-001", "--resume")
	if status := exits(t, dir, 0, "status", "PRD-001", "--json"); !strings.Contains(status, "seen in a browser") {
		t.Errorf("the message is not on record:\n%s", status)
	}
	// The log of a step, as it was when the page was opened and after that.
	s.visit("/prd/PRD-001/step/wait")
	s.until(`document.querySelector("pre").textContent.includes("ended")`)
	s.calm()
}

// TestRollback: a rollback is shown before it is done, and brings files back.
func TestRollback(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "copy" {
      command   = ["cp", "in.txt", "out.txt"]
      inputs    = ["in.txt"]
      artifacts = ["out.txt"]
    }
  }
}
`, map[string]string{"in.txt": "good\n"})
	exits(t, dir, 0, "build", "PRD-001")
	if err := os.WriteFile(filepath.Join(dir, "out.txt"), []byte("bad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	s.visit("/prd/PRD-001")
	s.do(chromedp.Click("#checkpoints tbody a"), chromedp.WaitReady("main"))
	s.do(chromedp.Click(`a[href$="/rollback"]`), chromedp.WaitReady("form"))
	s.until(`document.querySelector("pre").textContent.includes("out.txt")`)
	s.picture("preview")
	s.do(chromedp.SendKeys("form input[name=message]", "it was bad\r"), chromedp.WaitReady("main"))
	s.until(`document.body.textContent.includes("Rolled PRD-001 back")`)
	if text, err := os.ReadFile(filepath.Join(dir, "out.txt")); err != nil || string(text) != "good\n" {
		t.Errorf("out.txt is %q, %v", text, err)
	}
	s.calm()
}

// TestKeyboard: everything that a pointer can do, keys can do; and what takes keys shows it.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, many, map[string]string{"in/a.txt": "a line\n"})
	exits(t, dir, 3, "build", "PRD-001")
	s := open(t, dir)
	s.visit("/prd/PRD-001")
	controls := evaluate[int](s, `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")].filter(e => e.checkVisibility()).length`)
	reached := map[string]bool{}
	for range controls + 20 {
		s.do(chromedp.KeyEvent("\t"))
		at := evaluate[string](s, `(() => { const e = document.activeElement; if (e === document.body) return ""; window.n = window.n || 0; e.dataset.n = e.dataset.n || ++window.n; const o = getComputedStyle(e); return e.dataset.n + (o.outlineStyle === "none" ? " without a mark: " + e.outerHTML.slice(0, 80) : ""); })()`)
		if strings.Contains(at, "without a mark") {
			t.Errorf("the focus is not shown: %s", at)
		}
		if at != "" {
			reached[at] = true
		}
	}
	if len(reached) < controls {
		t.Errorf("the tab key reaches %d of %d controls", len(reached), controls)
	}
	// A group of instances is opened by a key.
	s.do(chromedp.Focus("details.group > summary"), chromedp.KeyEvent("\r"))
	s.until(`document.querySelector("details.group").open`)
	// The search finds instances and hides the others.
	s.do(chromedp.SendKeys("#search", "seven"))
	s.until(`[...document.querySelectorAll("table.steps tr")].filter(e => e.checkVisibility()).length === 1`)
	s.calm()
}

// TestWithoutScripts: a page can be read, and answers can be given, without JavaScript.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, many, map[string]string{"in/a.txt": "a line\n"})
	exits(t, dir, 3, "build", "PRD-001")
	s := open(t, dir)
	s.scripts(false)
	s.do(chromedp.Navigate(s.base+"/prd/PRD-001"), chromedp.WaitReady("main"))
	text, err := chromedp.Run(s.ctx, chromedp.TextContent("main"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sources", "a line with <b>markup</b>", "Publish all.tar?", "beta"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	s.do(chromedp.Click("button[value=reject]"), chromedp.WaitReady(".said"))
	text, err = chromedp.Run(s.ctx, chromedp.TextContent(".said"))
	if err != nil || !strings.Contains(text, "Rejected sign-off") {
		t.Errorf("the answer is %q, %v", text, err)
	}
}
