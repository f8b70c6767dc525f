package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// check is one request and what its answer must be.
type check struct {
	Operation string         `json:"operation"`
	Method    string         `json:"method"`
	Path      string         `json:"path"`
	Body      string         `json:"body,omitempty"`
	Status    int            `json:"status"`
	Want      map[string]any `json:"want,omitempty"` // fields of the answer; numbers are float64
}

// checks are a cashier's day. Each builds on those before it.
func checks() []check {
	return []check{
		{"openDrawer", "POST", "/drawers", `{"cashier":"Ada","float_cents":500000}`, 201, map[string]any{"id": 1.0}},
		{"openDrawer", "POST", "/drawers", `{"cashier":"Ada","float_cents":1}`, 409, nil},
		{"openDrawer", "POST", "/drawers", `{"cashier":"","float_cents":1}`, 400, nil},
		{"registerPlayer", "POST", "/players", `{"name":"Grace","card":"C-1"}`, 201, map[string]any{"id": 1.0}},
		{"registerPlayer", "POST", "/players", `{"name":"Grace","card":"C-1"}`, 409, nil},
		{"player", "GET", "/players/1", "", 200, map[string]any{"name": "Grace"}},
		{"player", "GET", "/players/2", "", 404, nil},
		{"startVisit", "POST", "/visits", `{"player_id":1}`, 201, map[string]any{"id": 1.0, "ended_at": nil}},
		{"buyIn", "POST", "/visits/1/buy-ins", `{"drawer_id":1,"amount_cents":1200000,"idempotency_key":"a"}`, 201, map[string]any{"kind": "buy_in"}},
		{"buyIn", "POST", "/visits/1/buy-ins", `{"drawer_id":1,"amount_cents":1200000,"idempotency_key":"a"}`, 201, map[string]any{"id": 1.0}},
		{"buyIn", "POST", "/visits/1/buy-ins", `{"drawer_id":1,"amount_cents":-5,"idempotency_key":"b"}`, 400, nil},
		{"buyIn", "POST", "/visits/1/buy-ins", `{"drawer_id":1,"dollars":5}`, 400, nil},
		{"drawer", "GET", "/drawers/1", "", 200, map[string]any{"balance_cents": 1700000.0}},
		{"cashOut", "POST", "/visits/1/cash-outs", `{"drawer_id":1,"amount_cents":1800000,"idempotency_key":"c"}`, 409, nil},
		{"cashOut", "POST", "/visits/1/cash-outs", `{"drawer_id":1,"amount_cents":300000,"idempotency_key":"d"}`, 201, map[string]any{"kind": "cash_out"}},
		{"openSlip", "POST", "/visits/1/slips", `{"table_name":"BJ-3","average_bet_cents":2500}`, 201, map[string]any{"id": 1.0}},
		{"endVisit", "POST", "/visits/1/end", "", 409, nil},
		{"closeSlip", "POST", "/slips/1/close", `{"average_bet_cents":3000}`, 200, map[string]any{"average_bet_cents": 3000.0}},
		{"statement", "GET", "/visits/1", "", 200, map[string]any{"net_cents": -900000.0}},
		{"endVisit", "POST", "/visits/1/end", "", 200, map[string]any{"buy_in_cents": 1200000.0}},
		{"closeDrawer", "POST", "/drawers/1/close", `{"counted_cents":1399000}`, 200, map[string]any{"difference_cents": -1000.0}},
		{"buyIn", "POST", "/visits/1/buy-ins", `{"drawer_id":1,"amount_cents":100,"idempotency_key":"e"}`, 409, nil},
	}
}

// ask sends the request of a check and judges the answer.
func (c check) ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, c.Method, url+c.Path, bytes.NewReader([]byte(c.Body)))
	if err != nil {
		return fmt.Errorf("%s %s: %w", c.Method, c.Path, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err // names method and URL itself
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", c.Method, c.Path, err)
	}
	if response.StatusCode != c.Status {
		return fmt.Errorf("%s %s: answered %d, not %d: %s", c.Method, c.Path, response.StatusCode, c.Status, text)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("%s %s: answered with %q: %w", c.Method, c.Path, text, err)
	}
	for field, want := range c.Want {
		if got, ok := answer[field]; !ok || got != want {
			return fmt.Errorf("%s %s: %s is %v, not %v", c.Method, c.Path, field, got, want)
		}
	}
	return nil
}
