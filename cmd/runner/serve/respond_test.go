package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// held is an answer that a browser does not take.
type held struct {
	*httptest.ResponseRecorder
	writing chan struct{}
	until   <-chan struct{}
}

// Write waits.
func (h held) Write(b []byte) (int, error) {
	h.writing <- struct{}{}
	<-h.until
	return len(b), nil
}

// TestSlowReaders: browsers that take no page keep nobody else from reading.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	s := &server{busy: make(chan struct{}, mostBusy)}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, "a page")
		return err
	}
	ctx, stop := context.WithCancel(t.Context())
	writing, ended := make(chan struct{}), make(chan struct{})
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	for range mostBusy {
		go func() {
			s.respond(held{httptest.NewRecorder(), writing, ctx.Done()}, request, write)
			ended <- struct{}{}
		}()
		<-writing
	}
	another := httptest.NewRecorder()
	s.respond(another, request, write)
	if another.Body.String() != "a page" {
		t.Errorf("another browser gets %q", another.Body.String())
	}
	stop()
	for range mostBusy {
		<-ended
	}
}

// TestPrintout: of what a command prints without an end, a page keeps the beginning, and of a log the end.
func TestPrintout(t *testing.T) {
	t.Parallel()
	for end, want := range map[bool]byte{false: 'a', true: 'c'} {
		p := printout{end: end}
		for _, letter := range "abc" {
			piece := bytes.Repeat([]byte{byte(letter)}, mostPrinted-1)
			if n, err := p.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("%d bytes are taken: %v", n, err)
			}
		}
		if kept := p.kept.Bytes(); len(kept) != mostPrinted || !p.cut || kept[mostPrinted/2] != want {
			t.Errorf("%d bytes are kept, among them %c, cut: %v", len(kept), kept[mostPrinted/2], p.cut)
		}
	}
}

// TestHostName: a name is compared without its port, however it is written.
func TestHostName(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"runner.example": "runner.example", "Runner.Example:8443": "runner.example", "": "", ":80": "", "https://x": "", "a b": ""} {
		if got, err := hostName(given); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", given, got, err)
		}
	}
}
