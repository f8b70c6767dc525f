package trace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	// maxQueue bounds the spans that wait to be sent. Further ones are lost.
	maxQueue = 2048
	// maxBatch is how many spans a request has at most.
	maxBatch = 512
	// firstPause is the time before the second try of a request; later ones are longer.
	firstPause = 500 * time.Millisecond
	maxPause   = 5 * time.Second
)

// exporter sends spans while the run goes on. One goroutine does that, which close ends.
type exporter struct {
	send  func(ctx context.Context, spans []*span) error
	delay time.Duration // the most that a span waits for others
	limit time.Duration // of a batch, with all its tries

	full    chan struct{} // there is a whole batch
	closing chan struct{} // closed when no spans follow
	ended   chan struct{} // closed when the goroutine has ended
	cancel  context.CancelFunc

	mu     sync.Mutex // of everything below
	queue  []*span
	added  int
	lost   int
	failed error // the first reason why spans were lost
}

// newExporter starts an exporter. The caller must close it.
func newExporter(send func(context.Context, []*span) error, delay, limit time.Duration) *exporter {
	ctx, cancel := context.WithCancel(context.Background())
	e := &exporter{send: send, delay: delay, limit: limit, full: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}), cancel: cancel}
	go e.run(ctx)
	return e
}

// add hands over a span. It does not wait.
func (e *exporter) add(s *span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.added++
	if len(e.queue) >= maxQueue {
		e.lose(1, errFull)
		return
	}
	e.queue = append(e.queue, s)
	if len(e.queue) >= maxBatch {
		select {
		case e.full <- struct{}{}:
		default:
		}
	}
}

// close sends what waits, until ctx ends, and ends the goroutine. It returns an *Error if spans
// were lost.
func (e *exporter) close(ctx context.Context) error {
	defer e.cancel()
	close(e.closing)
	select {
	case <-e.ended:
	case <-ctx.Done():
		e.cancel()
		<-e.ended
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost == 0 && e.failed == nil {
		return nil
	}
	return &Error{Lost: e.lost, Of: e.added, Err: e.failed}
}

func (e *exporter) run(ctx context.Context) {
	defer close(e.ended)
	ticker := time.NewTicker(e.delay)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-e.full:
		case <-e.closing:
			e.sendAll(ctx)
			return
		}
		e.sendAll(ctx)
	}
}

// sendAll sends all spans that wait. When no more follow, it gives up at the first failure: the
// user waits for the end.
func (e *exporter) sendAll(ctx context.Context) {
	for {
		batch := e.take()
		if len(batch) == 0 {
			return
		}
		err := e.sendBatch(ctx, batch)
		if err == nil {
			continue
		}
		lost, rejected := len(batch), (*rejectedError)(nil)
		if errors.As(err, &rejected) {
			lost = rejected.spans
		} else if e.isClosing() {
			for rest := e.take(); len(rest) > 0; rest = e.take() {
				lost += len(rest)
			}
		}
		e.mu.Lock()
		e.lose(lost, err)
		e.mu.Unlock()
	}
}

// sendBatch sends a batch, and tries again what may succeed later. When no more spans follow, it
// tries only once more.
func (e *exporter) sendBatch(ctx context.Context, batch []*span) error {
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(maxPause), backoff.WithMaxElapsedTime(0))
	for {
		last := e.isClosing()
		err := e.send(ctx, batch)
		wait, again := retryAfter(err)
		if err == nil || !again || last || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(max(wait, pauses.NextBackOff()))
		select {
		case <-timer.C:
		case <-e.closing:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		timer.Stop()
	}
}

// take takes a batch out of the queue.
func (e *exporter) take() []*span {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.queue), maxBatch)
	batch := e.queue[:n:n]
	if e.queue = e.queue[n:]; len(e.queue) == 0 {
		e.queue = nil
	}
	return batch
}

func (e *exporter) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

// lose counts spans that are lost, and keeps the first reason. The caller holds e.mu.
func (e *exporter) lose(n int, why error) {
	e.lost += n
	if e.failed == nil {
		e.failed = why
	}
}

// Error says that spans did not reach the collector.
type Error struct {
	Lost int // spans
	Of   int // as many as the run has
	To   string
	Err  error // the first reason
}

func (e *Error) Error() string {
	return fmt.Sprintf("%d of %d spans did not reach %s: %v", e.Lost, e.Of, e.To, e.Err)
}

// Unwrap returns the first reason.
func (e *Error) Unwrap() error { return e.Err }
