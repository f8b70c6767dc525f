package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"prdrunner/cmd/runner/page"
)

// live sends to open pages the parts that change. However many pages show a session, it is read once for all of them,
// and one that takes nothing holds up no other: it gets the newest version of each part when it takes something again.
type live struct {
	server *server
	ctx    context.Context

	mu     sync.Mutex
	topics map[string]*topic // by PRD
	all    sync.WaitGroup
}

// topic is what open pages show: a session, or the list of all.
type topic struct {
	prd   string // "": the list
	id    string // tells it from the topics before it
	pages map[*viewer]bool
	stop  context.CancelFunc
	parts map[string]version // that the session's page has now, by the id of the element
	order []string
	count uint64 // of the changes so far
}

// version is what a part is, and since which change.
type version struct {
	html  string
	since uint64
}

// viewer is an open page.
type viewer struct {
	wake chan struct{} // has an element if something has changed
	seen uint64        // the change up to which it has everything
}

func newLive(ctx context.Context, s *server) *live {
	return &live{server: s, ctx: ctx, topics: map[string]*topic{}}
}

// wait returns when nothing follows a session any more.
func (l *live) wait() { l.all.Wait() }

// readInterval is how often it is looked whether a session has changed.
const readInterval = 250 * time.Millisecond

// serve sends changes to a page until it is closed.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	v := &viewer{wake: make(chan struct{}, 1)}
	t := l.join(r.PathValue("prd"), v, r.Header.Get("Last-Event-ID"))
	defer l.leave(t, v)
	s := newStream(w)
	if !s.begin() {
		return
	}
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	for {
		parts, seen := l.changed(t, v)
		for i, p := range parts {
			text, err := json.Marshal(map[string]string{"id": p.ID, "html": p.HTML})
			id := "" // until the last one, the page does not have all of the change
			if i == len(parts)-1 {
				id = t.id + "-" + strconv.FormatUint(seen, 10)
			}
			if err != nil || !s.send("part", string(text), id) {
				return
			}
		}
		select {
		case <-v.wake:
		case <-beat.C:
			if !s.beat() {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// join adds a page to those that show a session. last is what the page got last, if its connection was lost.
func (l *live) join(prd string, v *viewer, last string) *topic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[prd]
	if t == nil {
		ctx, stop := context.WithCancel(l.ctx)
		t = &topic{prd: prd, id: rand.Text(), pages: map[*viewer]bool{}, stop: stop, parts: map[string]version{}}
		l.topics[prd] = t
		l.all.Go(func() { l.follow(ctx, t) })
	}
	t.pages[v] = true
	if seen, same := strings.CutPrefix(last, t.id+"-"); same { // otherwise what the page shows may be older
		v.seen, _ = strconv.ParseUint(seen, 10, 64)
	}
	return t
}

func (l *live) leave(t *topic, v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(t.pages, v); len(t.pages) == 0 {
		t.stop()
		delete(l.topics, t.prd)
	}
}

// changed returns the parts that have changed since a page took some, and up to which change the page has everything then.
func (l *live) changed(t *topic, v *viewer) (parts []page.Part, seen uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range t.order {
		if p := t.parts[id]; p.since > v.seen {
			parts = append(parts, page.Part{ID: id, HTML: p.html})
		}
	}
	v.seen = t.count
	return parts, v.seen
}

// follow reads a session whenever it has changed.
func (l *live) follow(ctx context.Context, t *topic) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		began := time.Now()
		l.read(ctx, t)
		pause.Reset(max(readInterval, 5*time.Since(began))) // a large session must not keep this machine busy
	}
}

// read reads a session, and wakes the pages that show it if something has changed.
func (l *live) read(ctx context.Context, t *topic) {
	parts, err := l.server.parts(ctx, t.prd)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	count := t.count + 1
	for _, p := range parts {
		was, known := t.parts[p.ID]
		if !known {
			t.order = append(t.order, p.ID)
		}
		if was.html != p.HTML {
			t.count, t.parts[p.ID] = count, version{p.HTML, count}
		}
	}
	if t.count != count {
		return
	}
	for v := range t.pages {
		select {
		case v.wake <- struct{}{}:
		default:
		}
	}
}

// stream sends events to a browser.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newStream(w http.ResponseWriter) *stream { return &stream{w, http.NewResponseController(w)} }

// slowest is how long a browser may take to take an event.
const slowest = 20 * time.Second

func (s *stream) begin() bool {
	s.w.Header().Set("Content-Type", "text/event-stream")
	return s.write(": hello\n\n")
}

// send sends an event with a text in one line. With an id, a browser that lost its connection says up to where it came.
func (s *stream) send(name, data, id string) bool {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return s.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, name, data))
}

// beat finds out whether the browser is still there.
func (s *stream) beat() bool { return s.write(": still here\n\n") }

func (s *stream) write(text string) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(slowest)); err != nil {
		return false
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
