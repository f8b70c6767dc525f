package tests

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cashier/gen/instrumented"
	"cashier/gen/store"
	"cashier/routes"
	"cashier/service"
)

func newHandler(t *testing.T, c service.Cashier) http.Handler {
	t.Helper()
	return must(routes.Handler(routes.Table(c)))(t)
}

func ask(t *testing.T, handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return answer
}

func TestRoutesAnswer(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, newHouse(t).Service)
	cases := []struct {
		name, method, path, body string
		status                   int
		contains                 string
	}{
		{"create", "POST", "/players", `{"name":"Bob","card":"C-2"}`, 201, `"id":2`},
		{"read", "GET", "/drawers/1", "", 200, `"balance_cents":1000`},
		{"act", "POST", "/visits/1/buy-ins", `{"drawer_id":1,"amount_cents":5,"idempotency_key":"k"}`, 201, `"kind":"buy_in"`},
		{"act without creating", "POST", "/drawers/1/close", `{"counted_cents":1005}`, 200, `"difference_cents":0`},
		{"unknown field", "POST", "/players", `{"name":"Bob","colour":"red"}`, 400, "colour"},
		{"two values", "POST", "/players", `{"name":"B","card":"C-3"}{}`, 400, "more than one value"},
		{"no body", "POST", "/visits/1/cash-outs", "", 400, "reading the body"},
		{"huge body", "POST", "/players", `{"name":"` + strings.Repeat("x", 70_000) + `"}`, 400, "too large"},
		{"id of letters", "GET", "/players/abc", "", 400, "not an id"},
		{"id of zero", "POST", "/slips/0/close", "{}", 400, "not an id"},
		{"missing", "GET", "/visits/42", "", 404, "not found"},
		{"conflict", "POST", "/visits", `{"player_id":1}`, 409, "visit 1"},
		{"no route", "DELETE", "/players/1", "", 405, ""},
	}
	for _, c := range cases {
		// In order: a closed drawer, for one, stays closed.
		t.Run(c.name, func(t *testing.T) {
			answer := ask(t, handler, c.method, c.path, c.body)
			equal(t, "status", answer.Code, c.status)
			if !strings.Contains(answer.Body.String(), c.contains) {
				t.Errorf("answer is %q, want it to contain %q", answer.Body, c.contains)
			}
		})
	}
}

var errSecret = errors.New("password of the database is hunter2")

// broken is a service that fails.
type broken struct{ service.Cashier }

func (broken) Player(context.Context, int64) (store.Player, error) {
	return store.Player{}, errSecret
}

func TestRoutesKeepTheirFailuresToThemselves(t *testing.T) {
	t.Parallel()
	answer := ask(t, newHandler(t, broken{newHouse(t).Service}), "GET", "/players/1", "")
	equal(t, "status", answer.Code, http.StatusInternalServerError)
	if strings.Contains(answer.Body.String(), "hunter2") {
		t.Errorf("the answer tells too much: %s", answer.Body)
	}
}

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	t.Parallel()
	table := routes.Table(newHouse(t).Service)
	answer := ask(t, must(routes.Handler(table))(t), "GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	for _, route := range table {
		described := document.Paths[route.Path][strings.ToLower(route.Method)]
		equal(t, "operation at "+route.Path, described.OperationID, route.Operation)
	}
	// The fields of embedded structs belong to the object itself, as in JSON.
	for _, field := range []string{"float_cents", "balance_cents", "difference_cents"} {
		if _, ok := document.Components.Schemas["service_Reconciliation"].Properties[field]; !ok {
			t.Errorf("field %s of a reconciliation is not described", field)
		}
	}
}

func TestInstrumentedServiceReportsEachOperation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	calls := map[string]int{}
	failures := 0
	watched := instrumented.New(h.Service, func(operation string, err error) {
		calls[operation]++
		if err != nil {
			failures++
		}
	})
	handler := newHandler(t, watched)
	table := routes.Table(watched)
	for _, route := range table {
		ask(t, handler, route.Method, strings.ReplaceAll(route.Path, "{id}", "99"), "{}")
	}
	equal(t, "number of operations", len(instrumented.Operations()), len(table))
	for _, operation := range instrumented.Operations() {
		equal(t, "calls of "+operation, calls[operation], 1)
	}
	equal(t, "failures", failures, len(table))
}
