package trace

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// collected is a collector of spans in memory.
type collected struct {
	mu      sync.Mutex
	batches []int
	answer  func(ctx context.Context, try int) error // nil: it takes everything
	tries   int
}

func (c *collected) send(ctx context.Context, spans []*span) error {
	c.mu.Lock()
	c.tries++
	try := c.tries
	c.mu.Unlock()
	if c.answer != nil {
		if err := c.answer(ctx, try); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches = append(c.batches, len(spans))
	return nil
}

func (c *collected) spans() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, batch := range c.batches {
		n += batch
	}
	return n
}

func addSpans(e *exporter, n int) {
	for range n {
		e.add(&span{})
	}
}

func TestExporterSendsWhileTheRunGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collected{}
		e := newExporter(c.send, time.Second, time.Minute)
		addSpans(e, 3)
		synctest.Wait()
		if c.spans() != 0 {
			t.Error("it does not wait for more spans")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if c.spans() != 3 {
			t.Errorf("after the delay: %v", c.batches)
		}
		addSpans(e, maxBatch+1)
		synctest.Wait()
		if c.spans() != 3+maxBatch+1 {
			t.Errorf("a whole batch waits: %v", c.batches)
		}
		addSpans(e, 1)
		if err := e.close(t.Context()); err != nil || c.spans() != maxBatch+5 {
			t.Errorf("at the end: %v, %v", err, c.batches)
		}
	})
}

// TestExporterRetries: what may succeed later is tried again, not before the collector wants that.
func TestExporterRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		c := &collected{answer: func(_ context.Context, try int) error {
			last = time.Now()
			if try < 3 {
				return &transientError{30 * time.Second, errors.New("busy")}
			}
			return nil
		}}
		e := newExporter(c.send, time.Second, 2*time.Minute)
		began := time.Now()
		addSpans(e, 1)
		time.Sleep(90 * time.Second)
		if c.spans() != 1 || c.tries != 3 || last.Sub(began) < time.Minute {
			t.Errorf("%d tries, the last after %v", c.tries, last.Sub(began))
		}
		must(t, e.close(t.Context()))
	})
}

// TestExporterGivesUp: a batch that is refused, or for which there is no time left, is lost, and
// the next one is sent.
func TestExporterGivesUp(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"refused": errors.New("no"), "busy": &transientError{0, errors.New("busy")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := &collected{answer: func(context.Context, int) error {
					if time.Since(began) < 11*time.Second {
						return refusal
					}
					return nil
				}}
				e := newExporter(c.send, time.Second, 10*time.Second)
				addSpans(e, 2)
				time.Sleep(12 * time.Second)
				addSpans(e, 3)
				var lost *Error
				if err := e.close(t.Context()); !errors.As(err, &lost) || lost.Lost != 2 || lost.Of != 5 || !errors.Is(err, refusal) || c.spans() != 3 {
					t.Errorf("%v, %v", err, c.batches)
				}
			})
		})
	}
}

// TestExporterIsBounded: a collector that takes nothing holds up neither the run nor, for long, its
// end.
func TestExporterIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collected{answer: func(ctx context.Context, _ int) error { <-ctx.Done(); return errSilent }}
		e := newExporter(c.send, time.Second, time.Hour)
		addSpans(e, maxBatch)
		synctest.Wait() // it is being sent
		addSpans(e, maxQueue+7)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		var lost *Error
		if err := e.close(ctx); !errors.As(err, &lost) || lost.Lost != maxBatch+maxQueue+7 || lost.Of != lost.Lost || !errors.Is(err, errFull) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != 3*time.Second || c.tries != 1 {
			t.Errorf("%v, %d tries", took, c.tries)
		}
	})
}

// TestExporterEndsAtOnceWithoutACollector: the end does not wait for a collector that is gone.
func TestExporterEndsAtOnceWithoutACollector(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collected{answer: func(context.Context, int) error { return &transientError{0, errors.New("connection refused")} }}
		e := newExporter(c.send, time.Second, 10*time.Second)
		addSpans(e, 2*maxBatch)
		synctest.Wait()
		began := time.Now()
		var lost *Error
		if err := e.close(t.Context()); !errors.As(err, &lost) || lost.Lost != 2*maxBatch {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took > 0 || c.tries > 2 {
			t.Errorf("%v, %d tries", took, c.tries)
		}
	})
}

func TestExporterCountsWhatIsRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collected{answer: func(_ context.Context, try int) error {
			if try == 1 {
				return &rejectedError{2, "too old"}
			}
			return nil
		}}
		e := newExporter(c.send, time.Second, 10*time.Second)
		addSpans(e, maxBatch+1)
		var lost *Error
		if err := e.close(t.Context()); !errors.As(err, &lost) || lost.Lost != 2 || c.tries != 2 {
			t.Errorf("%v, %d tries", err, c.tries)
		}
	})
}
