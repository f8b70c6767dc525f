package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// browser asks `runner serve` as a browser does.
type browser struct {
	t    *testing.T
	dir  string
	base string // without the token
	url  string // as it is printed
	http *http.Client
	cmd  *exec.Cmd

	location string // to which the last answer leads
}

// serveIn starts `runner serve` in a directory.
func serveIn(t *testing.T, dir string, args ...string) *browser {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "runner", append([]string{"serve"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "HOME="+dir)
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
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, dir: dir, base: "http://" + at.Host, url: at.String(), cmd: cmd}
	b.http = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b
}

// enter exchanges the token for a cookie.
func (b *browser) enter() *browser {
	b.t.Helper()
	if code, text := b.get(b.url); code != http.StatusOK || strings.Contains(text, "token=") {
		b.t.Fatalf("the token gives %d and\n%s", code, text)
	}
	return b
}

// get asks for a page, by its path or as a whole address.
func (b *browser) get(path string) (code int, text string) {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil, nil)
}

// page returns a page.
func (b *browser) page(path string) string {
	b.t.Helper()
	_, text := b.get(path)
	return text
}

// post sends a form.
func (b *browser) post(path string, form url.Values, header http.Header) (code int, text string) {
	b.t.Helper()
	return b.do(http.MethodPost, path, form, header)
}

func (b *browser) do(method, path string, form url.Values, header http.Header) (int, string) {
	b.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = b.base + path
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range header {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.location = answer.Header.Get("Location")
	if csp := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'; script-src 'self'") {
		b.t.Errorf("%s %s has the policy %q", method, path, csp)
	}
	if cookie := answer.Header.Get("Set-Cookie"); cookie != "" && !strings.HasSuffix(cookie, "; Path=/; HttpOnly; SameSite=Strict") {
		b.t.Errorf("%s %s sets the cookie %q", method, path, cookie)
	}
	return answer.StatusCode, string(text)
}

// secret returns the secret that the forms of a page hold.
func (b *browser) secret(path string) string {
	b.t.Helper()
	return b.hidden(path, "csrf")
}

// hidden returns what a form of a page holds.
func (b *browser) hidden(path, name string) string {
	b.t.Helper()
	text := b.page(path)
	found := regexp.MustCompile(`name="` + name + `" value="(\w+)"`).FindStringSubmatch(text)
	if found == nil {
		b.t.Fatalf("%s has no form with %s:\n%s", path, name, text)
	}
	return found[1]
}

// built returns a workspace in which a build has ended with an exit code.
func built(t *testing.T, source string, code int) string {
	t.Helper()
	dir := newWorkspace(t, source)
	launch(t, dir, "build", "PRD-001").exits(code)
	return dir
}

// TestServeLetsInWhoHasTheToken: nobody else reads or changes anything, whichever site a request comes from and
// whatever it calls the server.
func TestServeLetsInWhoHasTheToken(t *testing.T) {
	t.Parallel()
	b := serveIn(t, built(t, approvalPipeline, 3))
	asks := "needs the token"
	for _, path := range []string{"/", "/prd/PRD-001", "/prd/PRD-001/events", "/?token=wrong", "/prd/PRD-001?token=" + strings.Repeat("A", 26)} {
		if code, text := b.get(path); code != http.StatusUnauthorized || !strings.Contains(text, asks) || strings.Contains(text, "Ship it?") {
			t.Errorf("%s without the token gives %d and\n%s", path, code, text)
		}
	}
	form := url.Values{"gate": {"sign-off (one)"}, "verb": {"approve"}}
	if code, _ := b.post("/prd/PRD-001/answer", form, nil); code != http.StatusUnauthorized {
		t.Errorf("an answer without the token gives %d", code)
	}
	b.enter()
	at, _ := url.Parse(b.base)
	if cookies := b.http.Jar.Cookies(at); len(cookies) != 1 || strings.Contains(b.url, cookies[0].Value) {
		t.Errorf("the cookies are %v", cookies)
	}
	page := "/prd/PRD-001"
	if code, text := b.get(page); code != http.StatusOK || !strings.Contains(text, "Ship it?") {
		t.Fatalf("with the token, %s gives %d and\n%s", page, code, text)
	}
	for _, host := range []string{"evil.example:" + at.Port(), "localhost.evil.example:" + at.Port(), "localhost:1", "10.0.0.7:" + at.Port()} {
		if code, text := b.do(http.MethodGet, page, nil, http.Header{"Host": {host}}); code != http.StatusMisdirectedRequest || strings.Contains(text, "Ship it?") {
			t.Errorf("as %s, the server gives %d and\n%s", host, code, text)
		}
	}
	form.Set("csrf", b.secret(page))
	for name, header := range map[string]http.Header{
		"another site":     {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"http://evil.example"}},
		"another port":     {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://127.0.0.1:1"}},
		"an older browser": {"Origin": {"http://evil.example"}},
	} {
		if code, _ := b.post(page+"/answer", form, header); code != http.StatusForbidden {
			t.Errorf("a form of %s gives %d", name, code)
		}
	}
	form.Set("csrf", "wrong")
	if code, _ := b.post(page+"/answer", form, nil); code != http.StatusForbidden {
		t.Errorf("a form without the secret gives %d", code)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "other.hcl"), []byte(strings.Replace(approvalPipeline, "PRD-001", "PRD-002", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/static/../session.go", "/static/%2e%2e%2fsession.go", "/static/secret", "/prd/..%2f..%2fetc", "/prd/PRD-999", "/prd/PRD-001/step/--help", "/prd/PRD-001/step/--help/follow", "/prd/PRD-001/checkpoint/--help/diff", "/prd/PRD-001/checkpoint/--help/rollback", "/prd/PRD-001/checkpoint/--help", "/prd/--out=written/plan", "/prd/--file=%2Fetc%2Fpasswd/plan", "/prd/..%2Fother.hcl/plan", "/prd/other.hcl/plan", "/prd/--follow/logs", "/prd/-h/history", "/prd/PRD-001/step/nothing", "/prd/PRD-001/diff?from=--out%3Dwritten", "/prd/PRD-001/diff?from=nothing", "/prd/PRD-001/step/WS1?attempt=--out", "/prd/PRD-001/checkpoint/nothing", "/nothing"} {
		if code, text := b.get(path); code == http.StatusOK || strings.Contains(text, "package ") || strings.Contains(text, "root:") {
			t.Errorf("%s gives %d and\n%s", path, code, text)
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "written")); err == nil {
		t.Error("a page wrote a file")
	}
	if status := launch(t, b.dir, "status", "PRD-001"); status.wait() != 0 || !strings.Contains(status.stdout.String(), "waiting for an approval") {
		t.Errorf("something was changed:\n%s", status.stdout.String())
	}
}

// TestServeTokenFile: a token from a file is not printed, and a person can type it.
func TestServeTokenFile(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, approvalPipeline)
	const token = "correct-horse-battery-staple"
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := serveIn(t, dir, "--token-file", "token")
	if strings.Contains(b.url, "token") {
		t.Errorf("it prints %s", b.url)
	}
	if code, _ := b.post("/login", url.Values{"token": {"wrong"}}, nil); code != http.StatusUnauthorized {
		t.Errorf("a wrong token gives %d", code)
	}
	if code, text := b.get("/prd/PRD-001/logs"); code != http.StatusUnauthorized || !strings.Contains(text, `name="to" value="/prd/PRD-001/logs"`) {
		t.Errorf("a page without the token gives %d and\n%s", code, text)
	}
	if code, _ := b.post("/login", url.Values{"token": {token}, "to": {"//evil.example/x"}}, nil); code != http.StatusSeeOther || b.location != "/x" {
		t.Errorf("the token gives %d and leads to %s", code, b.location)
	}
	if code, text := b.get("/?token=old"); code != http.StatusOK || !strings.Contains(text, "url=/") {
		t.Errorf("who has entered gets %d for an old token and\n%s", code, text)
	}
	if code, text := b.get("/"); code != http.StatusOK || !strings.Contains(text, "not begun") || !strings.Contains(text, "/prd/PRD-001/plan") {
		t.Errorf("after that, the page is %d and\n%s", code, text)
	}
	// A pipeline without a session has a plan.
	if code, _ := b.get("/prd/PRD-001"); code != http.StatusSeeOther {
		t.Errorf("the page of a PRD without a session is %d", code)
	}
	if code, text := b.get("/prd/PRD-001/plan"); code != http.StatusOK || !strings.Contains(text, "WS1") {
		t.Errorf("its plan is %d and\n%s", code, text)
	}
}

// TestServeActions: what a form asks for is done as the command does it, with its record, or refused with its message.
func TestServeActions(t *testing.T) {
	t.Parallel()
	b := serveIn(t, built(t, approvalPipeline, 3)).enter()
	page := "/prd/PRD-001"
	form := url.Values{"csrf": {b.secret(page)}, "gate": {"sign-off (one)"}, "verb": {"nod"}, "asked": {b.hidden(page, "asked")}, "message": {"-m looks good"}}
	if code, _ := b.post(page+"/answer", form, nil); code != http.StatusBadRequest {
		t.Errorf("an answer that is neither yes nor no gives %d", code)
	}
	form.Set("verb", "approve")
	launch(t, b.dir, "reject", "PRD-001").exits(0)
	launch(t, b.dir, "build", "PRD-001", "--resume").exits(3)
	if code, text := b.post(page+"/answer", form, nil); code != http.StatusConflict || !strings.Contains(text, "asks anew") {
		t.Errorf("an answer to an earlier question gives %d and\n%s", code, text)
	}
	form.Set("asked", b.hidden(page, "asked"))
	if code, text := b.post(page+"/answer", form, nil); code != http.StatusSeeOther {
		t.Fatalf("the answer gives %d and\n%s", code, text)
	}
	if code, text := b.post(page+"/answer", form, nil); code != http.StatusConflict || !strings.Contains(text, "does not wait for an answer") {
		t.Errorf("a second answer gives %d and\n%s", code, text)
	}
	if code, text := b.post(page+"/pause", form, nil); code != http.StatusConflict || !strings.Contains(text, "nothing runs it") {
		t.Errorf("a pause of what does not run gives %d and\n%s", code, text)
	}
	_, text := b.get(page)
	checkpoints := regexp.MustCompile(`href="(/prd/PRD-001/checkpoint/(CP-init-\w+-\w+))"`).FindStringSubmatch(text)
	if checkpoints == nil {
		t.Fatalf("the page has no checkpoint:\n%s", text)
	}
	if code, text := b.get(checkpoints[1]); code != http.StatusOK || !strings.Contains(text, checkpoints[2]) {
		t.Errorf("the checkpoint gives %d and\n%s", code, text)
	}
	form.Set("checkpoint", checkpoints[2])
	form.Set("message", "the beginning")
	if code, text := b.post(page+"/pin", form, nil); code != http.StatusSeeOther {
		t.Errorf("the pin gives %d and\n%s", code, text)
	}
	if code, text := b.get(checkpoints[1]); code != http.StatusOK || !strings.Contains(text, ">Unpin<") || strings.Contains(text, ">Pin<") {
		t.Errorf("the pinned checkpoint gives %d and\n%s", code, text)
	}
	if strings.Contains(b.page(checkpoints[1]), `name="message"`) {
		t.Error("a reason is asked for, which unpin does not take")
	}
	form.Del("message")
	if code, text := b.post(page+"/unpin", form, nil); code != http.StatusSeeOther {
		t.Errorf("taking the pin away gives %d and\n%s", code, text)
	}
	if code, text := b.get(checkpoints[1]); code != http.StatusOK || !strings.Contains(text, ">Pin<") || strings.Contains(text, ">Unpin<") {
		t.Errorf("the checkpoint without its pin gives %d and\n%s", code, text)
	}
	form.Set("message", "the beginning")
	if code, text := b.get(checkpoints[1] + "/rollback"); code != http.StatusOK || !strings.Contains(text, "Discard step 1 - WS1") {
		t.Errorf("the preview gives %d and\n%s", code, text)
	}
	form.Set("preview", b.hidden(checkpoints[1]+"/rollback", "preview"))
	if err := os.WriteFile(filepath.Join(b.dir, "PRD-001.hcl"), []byte(approvalPipeline+"\n# edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := b.post(page+"/rollback", form, nil); code != http.StatusConflict || !strings.Contains(text, "changed since the preview") {
		t.Errorf("a rollback that does more than its preview says gives %d and\n%s", code, text)
	}
	form.Set("preview", b.hidden(checkpoints[1]+"/rollback", "preview"))
	if err := os.WriteFile(filepath.Join(b.dir, "PRD-001.hcl"), []byte(approvalPipeline+"\n# edited, and edited again"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := b.post(page+"/rollback", form, nil); code != http.StatusConflict || !strings.Contains(text, "changed since the preview") {
		t.Errorf("a rollback that takes back more of a file than its preview says gives %d and\n%s", code, text)
	}
	form.Set("preview", b.hidden(checkpoints[1]+"/rollback", "preview"))
	form.Set("checkpoint", "CP-none")
	if code, text := b.post(page+"/rollback", form, nil); code != http.StatusConflict || !strings.Contains(text, "CP-none") {
		t.Errorf("a rollback to an unknown checkpoint gives %d and\n%s", code, text)
	}
	form.Set("checkpoint", checkpoints[2])
	if code, text := b.post(page+"/rollback", form, nil); code != http.StatusSeeOther {
		t.Errorf("the rollback gives %d and\n%s", code, text)
	}
	if code, _ := b.post(page+"/pin", url.Values{"csrf": form["csrf"], "checkpoint": {checkpoints[2]}, "message": {strings.Repeat("x", 300<<10)}}, nil); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long text gives %d", code)
	}
	form.Set("checkpoint", "--help")
	if code, _ := b.post(page+"/rollback", form, nil); code != http.StatusBadRequest {
		t.Errorf("a flag as a checkpoint gives %d", code)
	}
	// What happened can be read, whatever has become of the pipeline.
	if err := os.WriteFile(filepath.Join(b.dir, "PRD-001.hcl"), []byte("pipeline {"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/step/WS1": `id="log"`, "/plan": "PRD-001.hcl", "/logs": "WS1"} {
		if code, text := b.get(page + path); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("with a broken pipeline, %s gives %d and\n%s", path, code, text)
		}
	}
	var did []string
	audit, err := os.ReadFile(filepath.Join(b.dir, ".runner", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(audit)) {
		var record struct{ What, Reason, Result string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		did = append(did, record.What+": "+record.Reason+": "+record.Result)
	}
	for _, want := range []string{"approve: -m looks good: ok", "checkpoint pin: the beginning: ok", "checkpoint unpin: : ok", "checkpoint rollback: the beginning: ok"} {
		if !strings.Contains(strings.Join(did, "\n"), want) {
			t.Errorf("the audit log lacks %q:\n%s", want, strings.Join(did, "\n"))
		}
	}
}

// TestServeReadOnly: pages have no forms, and a form changes nothing.
func TestServeReadOnly(t *testing.T) {
	t.Parallel()
	b := serveIn(t, built(t, approvalPipeline, 3), "--read-only").enter()
	if code, text := b.get("/prd/PRD-001"); code != http.StatusOK || strings.Contains(text, "<form") || !strings.Contains(text, "read only") {
		t.Errorf("the page is %d and\n%s", code, text)
	}
	if code, _ := b.post("/prd/PRD-001/answer", url.Values{"gate": {"sign-off (one)"}, "verb": {"approve"}}, nil); code != http.StatusNotFound {
		t.Error("a form was accepted")
	}
}

// TestServeShowsARunLive: an open page gets what changes, without asking again; and every page can be read.
func TestServeShowsARunLive(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, heldPipeline())
	build := launch(t, dir, "build", "PRD-001")
	awaitFile(t, dir, "pid")
	b := serveIn(t, dir).enter()
	for _, path := range []string{"", "/step/WS1", "/logs", "/plan", "/history"} {
		if code, text := b.get("/prd/PRD-001" + path); code != http.StatusOK || !strings.Contains(text, "PRD-001") {
			t.Errorf("%s gives %d and\n%s", path, code, text)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/prd/PRD-001/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := b.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	events := bufio.NewScanner(answer.Body)
	events.Buffer(nil, 1<<20)
	seen := func(want string) {
		for events.Scan() {
			if strings.Contains(events.Text(), want) {
				return
			}
		}
		t.Fatalf("the events end before %q", want)
	}
	seen(`in_progress`)
	form := url.Values{"csrf": {b.secret("/prd/PRD-001")}, "message": {"lunch"}}
	if code, text := b.post("/prd/PRD-001/pause", form, nil); code != http.StatusSeeOther {
		t.Errorf("a pause gives %d and\n%s", code, text)
	}
	seen(`lunch`)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	seen(`paused`)
	build.exits(3)
	if err := b.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
}
