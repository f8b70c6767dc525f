package store

import (
	"errors"
	"sync/atomic"
	"testing"
)

// pushed is a file whose first sync fails, or none.
type pushed struct {
	written, syncs atomic.Int64
	fails          error
}

func (f *pushed) Write(p []byte) (int, error) {
	f.written.Add(int64(len(p)))
	return len(p), nil
}

func (f *pushed) Sync() error {
	if f.syncs.Add(1) == 1 {
		return f.fails
	}
	return nil
}

// TestPusher: what is long is synced while it is written, what is short is not,
// and a sync that fails is told of by all that comes after it.
func TestPusher(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	piece := make([]byte, syncAfter/4)
	for _, tt := range []struct {
		name   string
		pieces int
		fails  error
		synced bool
	}{
		{"short", 3, nil, false},
		{"long", 40, nil, true},
		{"broken", 40, broken, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &pushed{fails: tt.fails}
			p := NewPusher(f)
			for range tt.pieces {
				if _, err := p.Write(piece); err != nil && !errors.Is(err, tt.fails) {
					t.Fatal(err)
				}
			}
			if err := p.Wait(); !errors.Is(err, tt.fails) {
				t.Fatalf("got %v, want %v", err, tt.fails)
			}
			if synced := f.syncs.Load() > 0; synced != tt.synced {
				t.Errorf("it was synced %d times", f.syncs.Load())
			}
			if tt.fails == nil {
				if want := int64(tt.pieces * len(piece)); f.written.Load() != want {
					t.Errorf("%d bytes were written, want %d", f.written.Load(), want)
				}
				return
			}
			before := f.written.Load()
			if _, err := p.Write(piece); !errors.Is(err, broken) || f.written.Load() != before {
				t.Errorf("after a sync that failed: %v, and %d bytes more", err, f.written.Load()-before)
			}
		})
	}
}
