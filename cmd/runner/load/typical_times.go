package load

import (
	"context"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/history"
)

// TypicalTimes returns what reads how long the workstreams of a PRD take, by what its newest sessions did, without the
// one that runs: see view.Options. It takes no lock. What can't be read says nothing about the time, and is left out.
func TypicalTimes(store *checkpoint.Store, prd string) func(ctx context.Context, running string) map[string]time.Duration {
	return func(ctx context.Context, running string) map[string]time.Duration {
		return history.Typical(store.Reader().Recent(ctx, prd, history.MaxEarlier+1), running)
	}
}
