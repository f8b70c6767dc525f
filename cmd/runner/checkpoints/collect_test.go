package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"prdrunner/checkpoint/prune"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
)

// TestCollectionThatWasNotMade calls takeCollected with the reason why nothing could be
// collected. takeCollected must record the reason and return no error, unless the reason
// is that the command was interrupted: then it must return an error.
func TestCollectionThatWasNotMade(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why  error
		ends bool
	}{
		{errors.New("a session is damaged"), false},
		{fmt.Errorf("find out what PRD-001 needs: %w", context.Canceled), true},
	} {
		var c info.Collection
		err := takeCollected(&cli.Environment{}, &c, prune.Collected{}, &prune.NotCollectedError{Err: test.why})
		if got := err != nil; got != test.ends || got == (c.Why != "") {
			t.Errorf("%v: takeCollected returned the error %v and recorded the reason %q", test.why, err, c.Why)
		}
	}
}
