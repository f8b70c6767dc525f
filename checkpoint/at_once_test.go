package checkpoint

import (
	"errors"
	"sync/atomic"
	"testing"
)

// TestAtOnce: all is done, and what fails is told.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 100} {
		var done atomic.Int64
		err := atOnce(n, func(int) error { done.Add(1); return nil })
		if err != nil || done.Load() != int64(n) {
			t.Errorf("of %d: %d done, %v", n, done.Load(), err)
		}
	}
	bad := errors.New("bad")
	err := atOnce(100, func(i int) error {
		if i == 50 {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
}
