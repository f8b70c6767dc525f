package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// stream sends events to a browser. It is safe for concurrent use.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
}

func newStream(w http.ResponseWriter) *stream {
	return &stream{w: w, control: http.NewResponseController(w)}
}

// beatInterval is how often a browser hears of a server that has nothing to say. Proxies close connections that are silent for
// a minute.
const beatInterval = 15 * time.Second

// slowest is how long a browser may take to take an event.
const slowest = 20 * time.Second

func (s *stream) begin() bool {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no") // proxies such as nginx pass events on at once
	return s.beat()
}

// event returns an event with a text in one line. With an id, a browser that lost its connection says up to where it came.
func event(name, data, id string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, name, data)
}

// send sends an event, and what was written before.
func (s *stream) send(name, data, id string) bool {
	return s.write(event(name, data, id)) && s.flush()
}

// beat finds out whether the browser is still there.
func (s *stream) beat() bool { return s.write(": still here\n\n") && s.flush() }

// keepAlive sends beats until ctx is done. If the browser is not there any more, it calls stop.
func (s *stream) keepAlive(ctx context.Context, stop func()) {
	beat := time.NewTicker(beatInterval)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if !s.beat() {
				stop()
			}
		}
	}
}

func (s *stream) write(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.control.SetWriteDeadline(time.Now().Add(slowest)); err != nil {
		return false
	}
	_, err := io.WriteString(s.w, text)
	return err == nil
}

func (s *stream) flush() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.control.Flush() == nil
}
