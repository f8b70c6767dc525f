package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"prdrunner/checkpoint/prune"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// TestCollectionThatWasNotMade: that nothing could be collected is told, and no
// error, unless the command was asked to end meanwhile.
func TestCollectionThatWasNotMade(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why  error
		ends bool
	}{
		{errors.New("a session is damaged"), false},
		{fmt.Errorf("find out what PRD-001 needs: %w", context.Canceled), true},
	} {
		var c show.Collection
		err := takeCollected(&cli.Environment{}, &c, prune.Collected{}, &prune.NotCollectedError{Err: test.why})
		if got := err != nil; got != test.ends || got == (c.Why != "") {
			t.Errorf("%v: error %v, told %q", test.why, err, c.Why)
		}
	}
}
