package main

import (
	"context"
	"time"

	"prdrunner/checkpoint/history"
)

// typicalTimes returns how long the workstreams of the PRD take, by what its newest sessions did, without the one that
// runs. It takes no lock. What can't be read says nothing about the time, and is left out.
func (b *build) typicalTimes(ctx context.Context, running string) map[string]time.Duration {
	return history.Typical(b.Store.Reader().Recent(ctx, b.Pipeline.ID, history.MaxEarlier+1), running)
}
