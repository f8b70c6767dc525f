package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
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

	mu        sync.Mutex
	topics    map[string]*topic // by PRD
	followers sync.WaitGroup
}

// topic is what open pages show: a session, or the list of all.
type topic struct {
	prd    string // "": the list
	id     string // tells it from the topics before it
	pages  map[*viewer]bool
	joined time.Time // when the last page was opened
	left   time.Time // when the last page was closed

	read     time.Time // when the last reading began
	parts    []page.Part
	shape    string             // of the parts; "" before they were read for the first time
	versions map[string]version // of the parts, by their ids
	count    uint64             // of the changes so far
	running  bool               // a run is on
}

// version is the content of a part, with the number of the change that made it.
type version struct {
	html   string
	change uint64
}

// viewer is an open page.
type viewer struct {
	wake   chan struct{} // has an element if there may be something to send
	opened time.Time
	seen   uint64 // the number of the last change that was sent
}

func newLive(ctx context.Context, s *server) *live {
	return &live{server: s, ctx: ctx, topics: map[string]*topic{}}
}

// wait returns when nothing follows a session any more.
func (l *live) wait() { l.followers.Wait() }

// serve sends changes to a page until it is closed.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	v := &viewer{wake: make(chan struct{}, 1), opened: time.Now()}
	t := l.join(r.PathValue("prd"), v, cmp.Or(r.Header.Get("Last-Event-ID"), r.FormValue("last")))
	defer l.leave(t, v)
	s := newStream(w)
	if !s.begin() {
		return
	}
	beat := time.NewTicker(beatInterval)
	defer beat.Stop()
	for {
		if !l.send(s, t, v) {
			return
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

// send sends what has changed. It reports false if the browser takes nothing any more.
func (l *live) send(s *stream, t *topic, v *viewer) bool {
	parts, shape, changed := l.changes(t, v)
	if !changed {
		return true
	}
	for _, p := range parts {
		text, err := json.Marshal(map[string]string{"id": p.ID, "html": p.HTML})
		if err != nil || !s.write(event("part", string(text), "")) {
			return false
		}
	}
	return s.send("shape", shape, t.id+"-"+strconv.FormatUint(v.seen, 10)) // now the page has all of the change
}

// join adds a page to those that show a session. last is what the page got last, if its connection was lost.
func (l *live) join(prd string, v *viewer, last string) *topic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[prd]
	if t == nil {
		t = &topic{prd: prd, id: rand.Text(), pages: map[*viewer]bool{}}
		l.topics[prd] = t
		l.followers.Go(func() { l.follow(t) })
	}
	t.pages[v], t.joined = true, v.opened
	if seen, same := strings.CutPrefix(last, t.id+"-"); same { // otherwise what the page shows may be older
		v.seen, _ = strconv.ParseUint(seen, 10, 64)
	}
	return t
}

func (l *live) leave(t *topic, v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(t.pages, v)
	t.left = time.Now()
}

// changes returns the parts that have changed since a page took some, and the shape that the page should have. Parts that were
// read before the page was opened may be older than the page, so it waits for the next reading.
func (l *live) changes(t *topic, v *viewer) (parts []page.Part, shape string, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.seen == t.count || t.read.Before(v.opened) {
		return nil, "", false
	}
	for _, p := range t.parts {
		if t.versions[p.ID].change > v.seen {
			parts = append(parts, p)
		}
	}
	v.seen = t.count
	return parts, t.shape, true
}

const (
	pollInterval    = 100 * time.Millisecond // how often the journal of a session that a page shows is checked for changes
	runningInterval = time.Second            // how often a session is read while a run is on, even if its journal has not changed
	idleInterval    = 5 * time.Second        // the same, while no run is on
	keepTopic       = time.Minute            // how long the parts of a page are kept that nobody has open
)

// follow reads a session whenever its journal has changed. It also reads it from time to time: a running step takes longer and
// longer, and a runner may be killed. It ends when the server does, or when nobody has had a page open for a while.
func (l *live) follow(t *topic) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	journal := l.server.journalOf(t.prd)
	var seen journalState
	var ended time.Time // when the last reading ended
	var pause time.Duration
	for {
		now := journalStateOf(journal)
		since := time.Since(ended)
		wanted, interval := l.demand(t)
		switch {
		case wanted == gone:
			return
		case wanted != unread && since >= pause && (now != seen || since >= interval || wanted == atOnce):
			began := time.Now()
			l.read(t)
			seen, ended = now, time.Now()
			pause = 5 * ended.Sub(began) // a large session must not keep this machine busy
		}
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// demand is what the pages of a topic need.
type demand int

const (
	gone   demand = iota // nobody has needed it for a while, and it has been removed
	unread               // no page is open
	usual                // the open pages have something
	atOnce               // a page was opened after the last reading
)

// demand returns what the pages of a topic need, and how often the session is to be read.
func (l *live) demand(t *topic) (demand, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	interval := idleInterval
	if t.running {
		interval = runningInterval
	}
	switch {
	case len(t.pages) == 0 && time.Since(t.left) > keepTopic:
		delete(l.topics, t.prd)
		return gone, interval
	case len(t.pages) == 0:
		return unread, interval
	case t.joined.After(t.read):
		return atOnce, interval
	}
	return usual, interval
}

// journalState is what tells that a journal has changed. It is zero if there is none.
type journalState struct {
	size     int64
	modified time.Time
}

func journalStateOf(path string) journalState {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return journalState{}
	}
	return journalState{info.Size(), info.ModTime()}
}

// read reads a session, and wakes the pages that something is to be sent to.
func (l *live) read(t *topic) {
	done, err := l.server.reading(l.ctx)
	if err != nil {
		return // the server ends
	}
	began := time.Now()
	parts, running, err := l.server.parts(l.ctx, t.prd)
	done()
	if l.ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.read = began
	if err == nil {
		t.running, t.shape = running, t.take(parts)
	} else if parts, err = l.server.pages.WithProblem(t.parts, l.server.env.Localize(err.Error())); err == nil {
		t.take(parts) // and the page stays as it is otherwise
	}
	for v := range t.pages {
		if v.seen < t.count {
			select {
			case v.wake <- struct{}{}:
			default:
			}
		}
	}
}

// take keeps the parts of a page, and returns their shape. If any has changed, is new, or is missing now, that is a change.
func (t *topic) take(parts []page.Part) (shape string) {
	next, versions := t.count+1, make(map[string]version, len(parts))
	for _, p := range parts {
		v, had := t.versions[p.ID]
		if !had || v.html != p.HTML {
			v, t.count = version{p.HTML, next}, next
		}
		versions[p.ID] = v
	}
	if shape = page.Shape(parts); shape != t.shape {
		t.count = next
	}
	t.parts, t.versions = parts, versions
	return shape
}
