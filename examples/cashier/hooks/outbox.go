// Package hooks tells other systems what the cashier does. An Outbox writes
// each event into the database, in the transaction that it tells of; a
// Dispatcher delivers the events to a webhook, at least once and in order.
package hooks

import (
	"context"
	"encoding/json"
	"fmt"

	"cashier/gen/store"
	"cashier/service"
)

// The topics of events.
const (
	TopicRecorded  = "transaction.recorded"
	TopicThreshold = "threshold.reached"
)

// ThresholdCents is the cash of one kind in one visit that must be reported.
const ThresholdCents = 10_000_00

// Threshold is the payload of TopicThreshold.
type Threshold struct {
	VisitID    int64  `json:"visit_id"`
	Kind       string `json:"kind"`
	TotalCents int64  `json:"total_cents"`
}

// Outbox writes events. It is a service.Observer.
type Outbox struct{}

var _ service.Observer = Outbox{}

// Recorded writes the event of a transaction, and that of the threshold when
// this transaction is the one that reaches it.
func (Outbox) Recorded(ctx context.Context, q store.Querier, t store.Transaction) error {
	if err := enqueue(ctx, q, TopicRecorded, t); err != nil {
		return err
	}
	same, err := store.SelectTransactions(ctx, q, "visit_id = ? AND kind = ?", t.VisitID, t.Kind)
	if err != nil {
		return err
	}
	var total int64
	for _, other := range same {
		total += other.AmountCents
	}
	if total < ThresholdCents || total-t.AmountCents >= ThresholdCents {
		return nil
	}
	return enqueue(ctx, q, TopicThreshold, Threshold{VisitID: t.VisitID, Kind: t.Kind, TotalCents: total})
}

func enqueue(ctx context.Context, q store.Querier, topic string, payload any) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", topic, err)
	}
	_, err = store.InsertOutboxEvent(ctx, q, store.OutboxEvent{Topic: topic, Payload: string(text)})
	return err
}
