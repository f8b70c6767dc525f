package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

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
          default = "stable"
        }
        input "note" {}
        input "size" { options = ["small", "large"] }
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
	exits(t, dir, 3, "build", "PRD-001", "--fresh")
	exits(t, dir, 3, "build", "PRD-001", "--resume")
	id := strings.Fields(strings.Split(exits(t, dir, 0, "checkpoint", "list", "PRD-001", "--json"), `"id": "`)[1])[0]
	id = strings.TrimRight(id, `",`)
	s := open(t, dir)
	views := map[string]string{
		"home": "/", "session": "/prd/PRD-001", "step": "/prd/PRD-001/step/lint", "plan": "/prd/PRD-001/plan", "logs": "/prd/PRD-001/logs", "history": "/prd/PRD-001/history",
		"checkpoint": "/prd/PRD-001/checkpoint/" + id, "difference": "/prd/PRD-001/checkpoint/" + id + "/diff", "rollback": "/prd/PRD-001/checkpoint/" + id + "/rollback",
		"safety": "/safety", "manual": "/manual", "concepts": "/manual/concepts", "comparison": "/manual/comparison", "nothing": "/prd/PRD-999",
		"sessions": "/prd/PRD-001/diff", "login": "/?token=wrong", "step with attempts": "/prd/PRD-001/step/lint?attempt=1",
	}
	for _, theme := range []string{"light", "dark"} {
		s.theme(theme)
		for _, width := range []int64{360, 1280, 2560} {
			s.do(chromedp.EmulateViewport(width, 900))
			for name, path := range views {
				s.visit(path)
				if name == "nothing" || name == "login" { // the browser logs the status
					s.refused()
				}
				s.audit(fmt.Sprintf("%s, %s, %d wide", name, theme, width))
				if name == "session" || width == 1280 {
					s.picture(fmt.Sprintf("%s-%s-%d", name, theme, width))
				}
			}
		}
	}
	// From the session, an earlier one can be compared with it.
	s.visit("/prd/PRD-001")
	s.do(chromedp.Click(`#history a`), chromedp.WaitReady("pre"))
	s.until(`document.body.textContent.includes("Difference of two sessions") && document.querySelector("h1").textContent.includes("and the latest")`)
	s.calm()
}

// TestFilesLook visits what is written as files, a report and a graph, as TestLooks does with pages.
func TestFilesLook(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, many, map[string]string{"in/a.txt": "a line\n"})
	exits(t, dir, 3, "build", "PRD-001")
	exits(t, dir, 0, "render", "PRD-001", "-o", "report.html")
	if err := os.WriteFile(filepath.Join(dir, "graph.html"), []byte(exits(t, dir, 0, "graph", "PRD-001", "--format", "html")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := tab(t, dir, "file://"+dir)
	for _, name := range []string{"report", "graph"} {
		for _, theme := range []string{"light", "dark"} {
			s.theme(theme)
			for _, width := range []int64{360, 1280, 2560} {
				s.do(chromedp.EmulateViewport(width, 900))
				s.visit("/" + name + ".html")
				s.audit(fmt.Sprintf("%s, %s, %d wide", name, theme, width))
			}
			s.picture(name + "-" + theme)
		}
		s.do(chromedp.SendKeys("#search", "seven"))
		s.until(`[...document.querySelectorAll(".graph .box.away")].length > 0 && [...document.querySelectorAll("table.steps tr")].filter(e => e.checkVisibility()).length <= 1`)
	}
	s.calm()
}

// audit reports what makes the page hard to use.
func (s *site) audit(at string) {
	s.t.Helper()
	for _, problem := range evaluate[[]string](s, audit) {
		s.t.Errorf("%s: %s", at, problem)
	}
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
  for (const e of document.querySelectorAll("svg text")) {
    const box = e.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    if (!e.textContent.trim() || !e.checkVisibility() || getComputedStyle(e).fill === "none") continue;
    const under = [...e.ownerSVGElement.querySelectorAll("rect")].filter(r => {
      const b = r.getBoundingClientRect();
      return b.left <= x && x <= b.right && b.top <= y && y <= b.bottom && getComputedStyle(r).fill !== "none" && parse(getComputedStyle(r).fill)[3] === 1;
    }).pop();
    const color = getComputedStyle(e).fill, on = under ? parse(getComputedStyle(under).fill) : ground(e.ownerSVGElement.parentElement);
    const a = luminance(parse(color)), b = luminance(on), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5 && !seen.has(color + on)) { seen.add(color + on); found.push("contrast " + ratio.toFixed(2) + " in a picture: " + about(e)); }
  }
  return found;
})()`

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
	if channel := evaluate[string](s, `document.querySelector("select[name='input:channel']").value`); channel != "stable" {
		t.Errorf("the input begins with %s, not with its default", channel)
	}
	// Nobody has chosen what has no default.
	if size := evaluate[string](s, `document.querySelector("select[name='input:size']").value`); size != "" {
		t.Errorf("the input without a default begins with %s", size)
	}
	if evaluate[bool](s, `document.querySelector("#waiting form").checkValidity()`) {
		t.Error("the form can be sent without the inputs that have no default")
	}
	evaluate[bool](s, `document.querySelector("#waiting form").noValidate = true`)
	s.do(chromedp.Click("button[value=approve]"), chromedp.WaitReady("pre.failed"))
	s.until(`document.querySelector("pre.failed").textContent.includes("must give the input note") && document.querySelector("pre.failed").textContent.includes("must give the input size")`)
	s.refused()
	s.visit("/prd/PRD-001")
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
