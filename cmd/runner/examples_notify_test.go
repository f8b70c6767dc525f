package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// notified runs the example notify.
type notified struct {
	t   *testing.T
	dir string
	env []string
}

// run runs a command line of Runner in the example, and returns its output.
func (n *notified) run(exit int, binary, line string) string {
	n.t.Helper()
	cmd := exec.Command(binary, strings.Fields(line)...)
	cmd.Dir, cmd.Env = n.dir, n.env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		n.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exit {
		n.t.Fatalf("runner %s: exit code %d, want %d\n%s", line, got, exit, out)
	}
	return string(out)
}

// chat is the server of a chat. It is busy at the first request.
type chat struct {
	mu       sync.Mutex
	requests int
	messages []string
	problems []string
}

const webhookPath = "/services/T0/B0/s3cr3tW3bh00k"

// ServeHTTP implements http.Handler.
func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests++; c.requests == 1 {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	var payload struct{ Text string }
	if err := json.NewDecoder(r.Body).Decode(&payload); err != nil || r.Method != http.MethodPost || r.URL.Path != webhookPath || r.Header.Get("Content-Type") != "application/json" {
		c.problems = append(c.problems, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type"))
		http.Error(w, "no payload", http.StatusBadRequest)
		return
	}
	c.messages = append(c.messages, payload.Text)
}

// TestChatIsNotified runs the commands that the comment of PRD-010 in examples/notify
// names, with a server that is busy at first. The address of the webhook must be in no file
// that Runner writes.
func TestChatIsNotified(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	c := &chat{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	n := &notified{t: t, dir: copyExample(t, "notify"), env: append(os.Environ(), "PRDRUNNER_VAR_chat_webhook="+server.URL+webhookPath, "no_proxy=127.0.0.1")}

	expect(t, n.run(3, binary, "build PRD-010"), "attempt 1 of 4 at the paused hook (", "error: 503")
	n.run(0, binary, "approve PRD-010")
	if out := n.run(0, binary, "build PRD-010 --resume"); strings.Contains(out, "hook") {
		t.Errorf("a hook failed:\n%s", out)
	}
	want := []string{
		"PRD-010 Price list: paused\n- sign-off (draft): Publish the prices in out/prices.txt?\n    runner approve PRD-010 'sign-off (draft)'\n    runner build PRD-010 --resume",
		"PRD-010 Price list: complete",
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := strings.Join(c.messages, "\n"); got != strings.Join(want, "\n") || len(c.problems) > 0 || c.requests != 3 {
		t.Errorf("%d requests, refused: %q, messages:\n%s", c.requests, c.problems, got)
	}
	n.holdsNot("s3cr3tW3bh00k")
}

// holdsNot checks that no file of the example has a text.
func (n *notified) holdsNot(text string) {
	n.t.Helper()
	files := 0
	err := filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			n.t.Errorf("%s holds %s", path, text)
		}
		return err
	})
	if err != nil || files < 20 {
		n.t.Errorf("%d files: %v", files, err)
	}
}

// TestMailIsSent runs the commands that the comment of PRD-011 in examples/notify names, on
// machines with one, the other and no program for mail. The program is a stand-in that
// keeps its arguments and the mail.
func TestMailIsSent(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	const failed = "PRD-011 Stock: failed\n- count: stock/paint.txt:2: no number of blue\n    runner logs PRD-011 count\n    runner build PRD-011 --resume --var mail_to=ana@example.com\n"
	const complete = "PRD-011 Stock: complete\n"
	header := func(subject string) string {
		return "-i -t\nTo: ana@example.com\nSubject: PRD-011: " + subject + "\nContent-Type: text/plain; charset=utf-8\n\n"
	}
	arguments := func(subject string) string { return "-s PRD-011: " + subject + " ana@example.com\n" }
	for program, want := range map[string]string{
		"sendmail": header("failed") + failed + header("complete") + complete,
		"mail":     arguments("failed") + failed + arguments("complete") + complete,
		"":         "",
	} {
		t.Run("with "+program, func(t *testing.T) {
			t.Parallel()
			n := &notified{t: t, dir: copyExample(t, "notify")}
			n.env = []string{"PATH=" + pathWith(t, "git", "sh", "jq", "awk", "mkdir"), "HOME=" + n.dir}
			received := filepath.Join(n.dir, "received.txt")
			if program != "" {
				standIn := "#!/bin/sh\n{ echo \"$*\"; while IFS= read -r line; do printf '%s\\n' \"$line\"; done; } >> '" + received + "'\n"
				writeProgram(t, filepath.Join(strings.TrimPrefix(n.env[0], "PATH="), program), standIn)
			}

			out := n.run(1, binary, "build PRD-011 --var mail_to=ana@example.com")
			if told := strings.Contains(out, ") failed: exit code 1: neither sendmail nor mail is in PATH\n"); told != (program == "") {
				t.Errorf("the output is\n%s", out)
			}
			if err := os.WriteFile(filepath.Join(n.dir, "stock", "paint.txt"), []byte("red 20\nblue 3\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			n.run(0, binary, "build PRD-011 --resume --var mail_to=ana@example.com")
			got, err := os.ReadFile(received)
			if string(got) != want || (err == nil) != (program != "") {
				t.Errorf("received:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// pathWith returns a directory with links to some programs of this machine.
func pathWith(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeProgram(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // a program must be executable
		t.Fatal(err)
	}
}
