package serve

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestKnows: a request may name the server only so that no other site can have caused it.
func TestKnows(t *testing.T) {
	t.Parallel()
	loopback := newGuard("token", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, []string{"runner.example"}, nil)
	open := newGuard("token", &net.TCPAddr{IP: net.IPv4zero, Port: 80}, nil, nil)
	for _, test := range []struct {
		g    *guard
		host string
		want bool
	}{
		{loopback, "127.0.0.1:8080", true}, {loopback, "localhost:8080", true}, {loopback, "[::1]:8080", true},
		{loopback, "127.0.0.1:80", false}, {loopback, "127.0.0.1", false}, {loopback, "", false},
		{loopback, "evil.example:8080", false}, {loopback, "localhost.evil.example:8080", false}, {loopback, "192.168.0.7:8080", false},
		{loopback, "runner.example", true}, {loopback, "runner.example:443", true}, {loopback, "other.runner.example", false}, {open, "runner.example", false},
		{open, "192.168.0.7", true}, {open, "192.168.0.7:80", true}, {open, "localhost", true}, {open, "evil.example", false}, {open, "192.168.0.7:81", false},
	} {
		if got := test.g.knows(test.host); got != test.want {
			t.Errorf("knows(%q) is %v with a server that others can reach: %v", test.host, got, test.g.open)
		}
	}
}

// TestLetIn: behind a proxy with TLS, the cookie is sent with TLS alone.
func TestLetIn(t *testing.T) {
	t.Parallel()
	g := newGuard("token", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, nil, nil)
	for scheme, secure := range map[string]bool{"": false, "http": false, "https": true} {
		r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set("X-Forwarded-Proto", scheme)
		g.letIn(w, r)
		if got := strings.Contains(w.Header().Get("Set-Cookie"), "; Secure"); got != secure {
			t.Errorf("with %q, the cookie is %s", scheme, w.Header().Get("Set-Cookie"))
		}
	}
}

// TestWithoutToken: the address after the token leads nowhere else.
func TestWithoutToken(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"/?token=x": "/", "/prd/PRD-001?token=x&a=b": "/prd/PRD-001?a=b", "//evil.example/?token=x": "/", `/\evil.example?token=x`: "/", "?token=x": "/",
	} {
		u, err := url.Parse("http://127.0.0.1" + given)
		if err != nil {
			u = &url.URL{Path: given}
		}
		if got := withoutToken(u); got != want {
			t.Errorf("%s leads to %s, want %s", given, got, want)
		}
	}
}
