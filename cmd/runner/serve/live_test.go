package serve_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// TestLive: a page shows what a run does while it goes on, and takes an approval.
func TestLive(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "wait" {
      script = "until test -e go; do sleep 0.05; done"
    }
    workstream "beside" {
      depends_on = [workstream.wait]
      command    = ["true"]
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
	if !evaluate[bool](s, `document.querySelector("tbody td").textContent === ""`) {
		t.Error("a pipeline without a title has one in the list")
	}
	s.visit("/prd/PRD-001")
	if title := evaluate[string](s, "document.title"); title != "PRD-001" {
		t.Errorf("the page of a pipeline without a title is called %q", title)
	}
	s.until(`document.querySelector("#step-wait .run") !== null`)
	s.until(`document.getElementById("live").textContent.includes("live")`)
	evaluate[bool](s, `window.same = true`)
	// The search goes on to hide what it does not find, and the focus stays where it is.
	s.do(chromedp.SendKeys("#search", "wait"))
	s.do(chromedp.Focus("#step-wait a"))
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until(`document.querySelector("#step-wait .ok") !== null && document.getElementById("result").textContent.includes("paused")`)
	s.until(`document.querySelector("button[value=approve]") !== null`)
	s.until(`document.querySelector("#step-beside .ok") !== null && !document.getElementById("step-beside").checkVisibility()`)
	if !evaluate[bool](s, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	if !evaluate[bool](s, `document.activeElement.closest("#step-wait") !== null`) {
		t.Error("the focus was lost")
	}
	_ = build.Wait()
	s.picture("waiting")
	s.do(chromedp.SendKeys("#waiting input[name=message]", "seen in a browser"), chromedp.Click("button[value=approve]"))
	s.until(`document.body.textContent.includes("Approved sign-off")`)
	exits(t, dir, 0, "build", "PRD-001", "--resume")
	if status := exits(t, dir, 0, "status", "PRD-001", "--json"); !strings.Contains(status, "seen in a browser") {
		t.Errorf("the message is not on record:\n%s", status)
	}
	s.calm()
}

// TestFollowedLog: a page shows the log of a step as it grows, each line once.
func TestFollowedLog(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "talk" {
      script = "echo '<b>first</b>'; until test -e second; do sleep 0.05; done; echo second; until test -e third; do sleep 0.05; done; echo third"
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
	s.visit("/prd/PRD-001/step/talk")
	for i, line := range []string{"second", "third"} {
		s.until(fmt.Sprintf(`document.getElementById("log").textContent.split("\n").length === %d && document.getElementById("live").textContent.includes("live")`, i+2))
		if err := os.WriteFile(filepath.Join(dir, line), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// After the end, the page says what the step did.
	s.until(`document.getElementById("log") !== null && !document.querySelector("[data-follow]")`)
	if log := evaluate[string](s, `document.getElementById("log").textContent`); log != "<b>first</b>\nsecond\nthird\n" {
		t.Errorf("the log is %q", log)
	}
	if why := evaluate[string](s, `document.querySelector("pre").textContent`); strings.Contains(why, "runs since") {
		t.Errorf("the step still runs: %s", why)
	}
	_ = build.Wait()
	s.calm()
}

// watching opens the page of PRD-001, and waits until it is kept up to date.
func watching(t *testing.T, dir string) *site {
	t.Helper()
	s := open(t, dir)
	s.visit("/prd/PRD-001")
	s.until(`document.getElementById("live").textContent.includes("live")`)
	return s
}

// oneStep is a pipeline with one workstream and an approval.
func oneStep(name string) string {
	return fmt.Sprintf("pipeline \"PRD-001\" {\n  phase \"one\" {\n    workstream %q { command = [\"true\"] }\n    gate \"sign-off\" {\n      approval { message = \"Go on?\" }\n    }\n  }\n}\n", name)
}

// TestOtherSteps: a page to which steps are added, or which shows some that are gone, is loaded again once, and changes after that.
func TestOtherSteps(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, oneStep("old"), nil)
	exits(t, dir, 3, "build", "PRD-001")
	s := watching(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(oneStep("new")), 0o600); err != nil {
		t.Fatal(err)
	}
	exits(t, dir, 3, "build", "PRD-001", "--fresh")
	s.until(`document.getElementById("step-new") !== null && document.getElementById("step-old") === null && document.getElementById("live").textContent.includes("live")`)
	evaluate[bool](s, `window.same = true`)
	exits(t, dir, 0, "checkpoint", "pin", "PRD-001", "latest")
	s.until(`document.getElementById("checkpoints").textContent.includes("pinned")`)
	if !evaluate[bool](s, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	s.calm()
}

// TestFormInUse: what someone is writing stays, and a note says that there is something newer.
func TestFormInUse(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, oneStep("step"), nil)
	exits(t, dir, 3, "build", "PRD-001")
	s := watching(t, dir)
	s.do(chromedp.SendKeys("#waiting input[name=message]", "half a"))
	exits(t, dir, 0, "reject", "PRD-001")
	exits(t, dir, 3, "build", "PRD-001", "--resume")
	s.until(`document.querySelector("#waiting .changed") !== null`)
	if text := evaluate[string](s, `document.querySelector("#waiting input[name=message]").value`); text != "half a" {
		t.Errorf("the text is %q", text)
	}
	s.do(chromedp.Click("#waiting .changed a"), chromedp.WaitReady("#waiting button"))
	s.until(`document.querySelector(".changed") === null`)
	if sent := evaluate[string](s, `[1, 2].map(() => document.querySelector("#waiting form").dispatchEvent(new Event("submit", {bubbles: true, cancelable: true}))).join()`); sent != "true,false" {
		t.Errorf("the form is sent twice: %s", sent)
	}
	s.calm()
}

// TestUnreadableSession: a page says why it does not change any more, and goes on when it can.
func TestUnreadableSession(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := workspace(t, oneStep("step"), nil)
	exits(t, dir, 3, "build", "PRD-001")
	s := watching(t, dir)
	evaluate[bool](s, `window.same = true`)
	journal := filepath.Join(dir, ".runner", "PRD-001", "journal.jsonl")
	whole, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, append([]byte("garbage\n"), whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.until(`document.getElementById("problem").textContent.includes("journal.jsonl")`)
	if err := os.WriteFile(journal, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until(`document.getElementById("problem").textContent === ""`)
	if !evaluate[bool](s, `window.same === true && document.getElementById("step-step") !== null`) {
		t.Error("the page was loaded again")
	}
	s.calm()
}

// spoiled returns a workspace after a run that exits with a code. Since then, the artifact out.txt of its first phase was edited.
func spoiled(t *testing.T, morePhases string, exit int) string {
	t.Helper()
	dir := workspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "copy" {
      command   = ["cp", "in.txt", "out.txt"]
      inputs    = ["in.txt"]
      artifacts = ["out.txt"]
    }
  }
`+morePhases+`
}
`, map[string]string{"in.txt": "good\n"})
	exits(t, dir, exit, "build", "PRD-001")
	if err := os.WriteFile(filepath.Join(dir, "out.txt"), []byte("bad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRollback: a rollback is shown before it is done, and brings files back.
func TestRollback(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := spoiled(t, "", 0)
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

// TestWayBack: the page of a session that failed leads to what has changed, and to the rollback.
func TestWayBack(t *testing.T) {
	t.Parallel()
	chromium(t)
	dir := spoiled(t, `phase "two" {
  workstream "check" { command = ["grep", "-n", "better", "out.txt"] }
}`, 1)
	s := open(t, dir)
	s.visit("/prd/PRD-001/step/copy")
	if log := evaluate[string](s, `document.getElementById("log").textContent`); strings.Contains(log, "PRD-001") {
		t.Errorf("as the log of a step is shown %q", log)
	}
	s.visit("/prd/PRD-001")
	ways := evaluate[[]string](s, `[...document.querySelectorAll("#failures li")].map(e => e.textContent.replace(/,.*/, ""))`)
	if diff := cmp.Diff([]string{"after phase one", "before the first phase"}, ways); diff != "" {
		t.Error(diff)
	}
	s.do(chromedp.Click(`#failures a[href$="/diff"]`), chromedp.WaitReady("pre"))
	s.until(`document.querySelector("pre").textContent.includes("out.txt")`)
	s.visit("/prd/PRD-001")
	s.do(chromedp.Click(`#failures a[href$="/rollback"]`), chromedp.WaitReady("form"))
	s.do(chromedp.Click("form button"), chromedp.WaitReady("main"))
	s.until(`document.body.textContent.includes("Rolled PRD-001 back")`)
	if text, err := os.ReadFile(filepath.Join(dir, "out.txt")); err != nil || string(text) != "good\n" {
		t.Errorf("out.txt is %q, %v", text, err)
	}
	s.calm()
}
