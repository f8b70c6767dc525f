package tests

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"cashier/gen/store"
	"cashier/hooks"
)

// topics returns those of the events in the outbox for which condition holds.
func topics(t *testing.T, h house, condition string) []string {
	t.Helper()
	var found []string
	for _, event := range must(store.SelectOutboxEvents(t.Context(), h.db, condition+" ORDER BY id"))(t) {
		found = append(found, event.Topic)
	}
	return found
}

func TestThresholdIsReportedOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, hooks.Outbox{})
	for _, payment := range []struct {
		cents int64
		key   string
	}{{hooks.ThresholdCents - 1, "a"}, {1, "b"}, {hooks.ThresholdCents, "c"}} {
		must(h.BuyIn(t.Context(), h.visit.ID, h.pay(payment.cents, payment.key)))(t)
	}
	must(h.CashOut(t.Context(), h.visit.ID, h.pay(5, "d")))(t)

	want := []string{hooks.TopicRecorded, hooks.TopicRecorded, hooks.TopicThreshold, hooks.TopicRecorded, hooks.TopicRecorded}
	if got := topics(t, h, "true"); !slices.Equal(got, want) {
		t.Errorf("events are %v, want %v", got, want)
	}
}

func TestRepetitionIsNoEvent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, hooks.Outbox{})
	for range 2 {
		must(h.BuyIn(t.Context(), h.visit.ID, h.pay(5, "same")))(t)
	}
	equal(t, "number of events", len(topics(t, h, "true")), 1)
}

// webhook accepts deliveries, but for one.
type webhook struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	unsigned int
	got      []string
}

// newWebhook returns a webhook that refuses the nth delivery.
func newWebhook(t *testing.T, secret string, nth int) *webhook {
	hook := &webhook{}
	hook.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, _ := io.ReadAll(r.Body)
		hook.mu.Lock()
		defer hook.mu.Unlock()
		if !hooks.Signed([]byte(secret), payload, r.Header.Get(hooks.HeaderSignature)) {
			hook.unsigned++
		}
		if hook.requests++; hook.requests == nth {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		hook.got = append(hook.got, r.Header.Get(hooks.HeaderEvent)+" "+r.Header.Get(hooks.HeaderTopic))
	}))
	t.Cleanup(hook.Close)
	return hook
}

func TestDeliveryKeepsTheOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t, hooks.Outbox{})
	must(h.BuyIn(t.Context(), h.visit.ID, h.pay(hooks.ThresholdCents, "a")))(t)
	hook := newWebhook(t, "secret", 1)
	dispatcher := hooks.NewDispatcher(h.db, hook.Client(), hook.URL, []byte("secret"), clock)

	count, err := dispatcher.DeliverPending(t.Context())
	if count != 0 || !errors.Is(err, hooks.ErrRefused) {
		t.Fatalf("delivered %d with error %v, want a refusal", count, err)
	}
	equal(t, "number delivered", must(dispatcher.DeliverPending(t.Context()))(t), 2)
	equal(t, "number delivered again", must(dispatcher.DeliverPending(t.Context()))(t), 0)

	want := []string{"1 " + hooks.TopicRecorded, "2 " + hooks.TopicThreshold}
	if !slices.Equal(hook.got, want) {
		t.Errorf("received %v, want %v", hook.got, want)
	}
	equal(t, "number of bad signatures", hook.unsigned, 0)
	first := must(store.GetOutboxEvent(t.Context(), h.db, 1))(t)
	equal(t, "attempts at the first", first.Attempts, 2)
	equal(t, "time of delivery", *first.DeliveredAt, clock().Unix())
}

func TestRunDeliversAtATickUntilItIsDone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, hooks.Outbox{})
	must(h.BuyIn(t.Context(), h.visit.ID, h.pay(5, "a")))(t)
	must(h.BuyIn(t.Context(), h.visit.ID, h.pay(5, "b")))(t)
	hook := newWebhook(t, "secret", 2)
	dispatcher := hooks.NewDispatcher(h.db, hook.Client(), hook.URL, []byte("secret"), clock)
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time, 1)
	tick <- clock()

	// The second event is refused, and its report ends the run.
	var failures []error
	dispatcher.Run(ctx, tick, func(err error) {
		failures = append(failures, err)
		cancel()
	})
	if len(failures) != 1 || !errors.Is(failures[0], hooks.ErrRefused) {
		t.Errorf("failures are %v, want one refusal", failures)
	}
	equal(t, "number delivered", len(topics(t, h, "delivered_at IS NOT NULL")), 1)
	equal(t, "number pending", len(topics(t, h, "delivered_at IS NULL")), 1)
}

func TestSignature(t *testing.T) {
	t.Parallel()
	signature := hooks.Sign([]byte("secret"), []byte("payload"))
	equal(t, "own signature", hooks.Signed([]byte("secret"), []byte("payload"), signature), true)
	equal(t, "other secret", hooks.Signed([]byte("other"), []byte("payload"), signature), false)
	equal(t, "other payload", hooks.Signed([]byte("secret"), []byte("other"), signature), false)
}
