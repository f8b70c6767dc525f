package main

import (
	"context"
	"slices"
	"time"

	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/state"
)

// typicalTimes returns how long the workstreams of the PRD take, by what its newest sessions did but the one that
// runs. It takes no lock. What can't be read says nothing about the time, and is left out.
func (b *build) typicalTimes(ctx context.Context, running string) map[string]time.Duration {
	sessions := b.Store.Reader().Recent(ctx, b.Pipeline.ID, history.MaxEarlier+1)
	return history.Typical(slices.DeleteFunc(sessions, func(st *state.State) bool { return st.Session == running }))
}
