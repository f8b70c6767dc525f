package serve_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// TestManyClients: five hundred pages that are open and read nothing hold up neither a run nor the other pages.
func TestManyClients(t *testing.T) {
	t.Parallel()
	dir := workspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "step" {
      for_each = toset([for n in range(40) : tostring(n)])
      command  = ["true"]
    }
  }
}
`, nil)
	exits(t, dir, 0, "build", "PRD-001")
	at := served(t, dir)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(path string) (int, string) {
		r, err := client.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	if code, _ := get(at.String()); code != http.StatusOK {
		t.Fatalf("the token gives %d", code)
	}
	cookie := jar.Cookies(&url.URL{Scheme: "http", Host: at.Host, Path: "/"})[0]
	const clients = 500
	for range clients {
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "GET /prd/PRD-001/events HTTP/1.1\r\nHost: "+at.Host+"\r\nCookie: "+cookie.String()+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	exits(t, dir, 0, "build", "PRD-001")
	if code, text := get("http://" + at.Host + "/prd/PRD-001"); code != http.StatusOK || !strings.Contains(text, "step[&#34;39&#34;]") {
		t.Errorf("the page gives %d:\n%s", code, text)
	}
	// One more page is told at once what it shows.
	r, err := client.Get("http://" + at.Host + "/prd/PRD-001/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: part") {
			return
		}
	}
	t.Errorf("no part of the page comes: %v", lines.Err())
}

// TestResumedConnection: a page that lost its connection gets what has changed since, and not everything again.
func TestResumedConnection(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "pipeline \"PRD-001\" {\n  phase \"one\" {\n    workstream \"step\" { command = [\"true\"] }\n  }\n}\n", nil)
	exits(t, dir, 0, "build", "PRD-001")
	at := served(t, dir)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	r, err := client.Get(at.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	events := "http://" + at.Host + "/prd/PRD-001/events"
	// connect reads parts until a change is whole, and returns its id and how many parts there were.
	connect := func(last string, changing func()) (id string, parts int, closing func()) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		r, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if changing != nil {
			changing()
		}
		lines := bufio.NewScanner(r.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if found, ok := strings.CutPrefix(lines.Text(), "id: "); ok { // the last event of a change
				id = found
				break
			}
			if strings.HasPrefix(lines.Text(), "event: part") {
				parts++
			}
		}
		return id, parts, func() { _ = r.Body.Close() }
	}
	first, all, closeFirst := connect("", nil)
	closeFirst()
	_, again, closeSecond := connect(first, func() { exits(t, dir, 0, "build", "PRD-001") })
	closeSecond()
	if all < 8 || again >= all {
		t.Errorf("a page gets %d parts at first and %d when it comes again", all, again)
	}
}
