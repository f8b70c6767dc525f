package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, began := 0, time.Now()
		err := Until(t.Context(), time.Second, func(context.Context) error {
			if calls++; calls < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		if took := time.Since(began); err != nil || calls != 3 || took != 2*time.Second {
			t.Errorf("%d calls in %s: %v", calls, took, err)
		}
		within, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if err := Until(within, time.Second, func(context.Context) error { return errors.New("never") }); err == nil || err.Error() != "never" {
			t.Errorf("when the time is over, the error is %v", err)
		}
	})
}

func TestTCP(t *testing.T) {
	t.Parallel()
	port, err := FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := TCP(t.Context(), port); err == nil {
		t.Error("nothing listens, and the port accepts connections")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	address, _ := l.Addr().(*net.TCPAddr)
	if err := TCP(t.Context(), address.Port); err != nil {
		t.Error(err)
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	status := http.StatusServiceUnavailable
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer s.Close()
	if err := HTTP(t.Context(), s.URL); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a service that is not available is ready: %v", err)
	}
	status = http.StatusNoContent
	if err := HTTP(t.Context(), s.URL); err != nil {
		t.Error(err)
	}
	if err := HTTP(t.Context(), "http://[::1"); err == nil {
		t.Error("a URL that is none is ready")
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	l := &Log{Path: path, Text: "ready to accept"}
	if err := l.Check(t.Context()); err == nil {
		t.Error("there is no log, and the text is in it")
	}
	for i, part := range []string{"starting\nready", " to", " accept\n"} {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(t.Context()); (err == nil) != (i == 2) {
			t.Errorf("after part %d: %v", i, err)
		}
	}
}
