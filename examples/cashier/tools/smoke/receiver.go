package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"cashier/hooks"
)

// receiver is a webhook. It refuses the first delivery, so that the hooks have
// to try again.
type receiver struct {
	*httptest.Server
	topics chan string // of accepted events, in the order of their arrival
}

func startReceiver(secret string) *receiver {
	r := &receiver{topics: make(chan string, 64)}
	refused := make(chan struct{}, 1)
	refused <- struct{}{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		payload, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
		if err != nil || !hooks.Signed([]byte(secret), payload, request.Header.Get(hooks.HeaderSignature)) {
			http.Error(w, "not signed", http.StatusForbidden)
			return
		}
		select {
		case <-refused:
			http.Error(w, "try again", http.StatusServiceUnavailable)
		default:
			r.topics <- request.Header.Get(hooks.HeaderTopic)
		}
	}))
	return r
}

// expect waits for events of the given topics, in this order.
func (r *receiver) expect(ctx context.Context, topics ...string) error {
	for i, want := range topics {
		select {
		case got := <-r.topics:
			if got != want {
				return fmt.Errorf("event %d is %s, not %s", i+1, got, want)
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting for event %d, %s: %w", i+1, want, ctx.Err())
		}
	}
	return nil
}
