package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"cashier/gen/store"
)

// The headers of a delivery.
const (
	HeaderTopic     = "Cashier-Topic"
	HeaderEvent     = "Cashier-Event" // the event's id, for receivers to drop what came twice
	HeaderSignature = "Cashier-Signature"
)

// ErrRefused means that the receiver did not accept an event.
var ErrRefused = errors.New("event was refused")

// Dispatcher delivers events to a URL.
type Dispatcher struct {
	db     *sql.DB
	client *http.Client
	url    string
	secret []byte
	now    func() time.Time
}

// NewDispatcher returns a dispatcher that signs with secret.
func NewDispatcher(db *sql.DB, client *http.Client, url string, secret []byte, now func() time.Time) *Dispatcher {
	return &Dispatcher{db: db, client: client, url: url, secret: secret, now: now}
}

// Run delivers what is pending whenever tick fires, until ctx is done. A
// failed delivery is reported and tried again at the next tick.
func (d *Dispatcher) Run(ctx context.Context, tick <-chan time.Time, report func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			if _, err := d.DeliverPending(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}

// DeliverPending delivers the events that are due, oldest first, and returns
// how many were accepted. It stops at the first that is not, to keep the order.
func (d *Dispatcher) DeliverPending(ctx context.Context) (int, error) {
	pending, err := store.SelectOutboxEvents(ctx, d.db, "delivered_at IS NULL ORDER BY id")
	if err != nil {
		return 0, err
	}
	for count, event := range pending {
		event.Attempts++
		failure := d.deliver(ctx, event)
		if failure == nil {
			now := d.now().Unix()
			event.DeliveredAt = &now
		}
		if err := store.UpdateOutboxEvent(ctx, d.db, event); err != nil {
			return count, errors.Join(failure, err)
		}
		if failure != nil {
			return count, fmt.Errorf("delivering event %d, attempt %d: %w", event.ID, event.Attempts, failure)
		}
	}
	return len(pending), nil
}

func (d *Dispatcher) deliver(ctx context.Context, event store.OutboxEvent) error {
	payload := []byte(event.Payload)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(HeaderTopic, event.Topic)
	request.Header.Set(HeaderEvent, strconv.FormatInt(event.ID, 10))
	request.Header.Set(HeaderSignature, Sign(d.secret, payload))
	response, err := d.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// A body that was read lets the connection be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%w: %s", ErrRefused, response.Status)
	}
	return nil
}

// Sign returns the signature of a payload.
func Sign(secret, payload []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(payload)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Signed reports whether signature is that of payload.
func Signed(secret, payload []byte, signature string) bool {
	return hmac.Equal([]byte(Sign(secret, payload)), []byte(signature))
}
