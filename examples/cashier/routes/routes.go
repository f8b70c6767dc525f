// Package routes offers the service over HTTP. Its table of routes is the one
// description of the interface: the handler and the OpenAPI document are both
// made from it.
package routes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"

	"cashier/service"
)

// maxBody is far more than any request needs.
const maxBody = 64 << 10

// Route is one operation of the interface.
type Route struct {
	Method    string
	Path      string // with {id} where the operation is on something
	Operation string
	Summary   string
	Status    int          // of success
	Request   reflect.Type // of the body, nil for none
	Response  reflect.Type
	serve     http.HandlerFunc
}

// Problem is the body of every answer that is not a success.
type Problem struct {
	Error string `json:"error"`
}

// Table returns the routes over a service.
func Table(c service.Cashier) []Route {
	return []Route{
		create("POST", "/drawers", "openDrawer", "Open a drawer with a float", c.OpenDrawer),
		read("GET", "/drawers/{id}", "drawer", "A drawer and its balance", c.Drawer),
		act("POST", "/drawers/{id}/close", "closeDrawer", "Close a drawer with a count", http.StatusOK, c.CloseDrawer),
		create("POST", "/players", "registerPlayer", "Register a player", c.RegisterPlayer),
		read("GET", "/players/{id}", "player", "A player", c.Player),
		create("POST", "/visits", "startVisit", "Start a player's visit", c.StartVisit),
		read("GET", "/visits/{id}", "statement", "The account of a visit", c.Statement),
		read("POST", "/visits/{id}/end", "endVisit", "End a visit", c.EndVisit),
		act("POST", "/visits/{id}/buy-ins", "buyIn", "Take cash for chips", http.StatusCreated, c.BuyIn),
		act("POST", "/visits/{id}/cash-outs", "cashOut", "Pay cash for chips", http.StatusCreated, c.CashOut),
		act("POST", "/visits/{id}/slips", "openSlip", "Open a rating slip", http.StatusCreated, c.OpenSlip),
		act("POST", "/slips/{id}/close", "closeSlip", "Close a rating slip", http.StatusOK, c.CloseSlip),
	}
}

// Handler serves routes, and the OpenAPI document of them at /openapi.json.
func Handler(table []Route) (http.Handler, error) {
	document, err := OpenAPI(table)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, route := range table {
		mux.HandleFunc(route.Method+" "+route.Path, route.serve)
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(document)
	})
	return mux, nil
}

// create is a route with a body and without an id.
func create[In, Out any](method, path, operation, summary string, do func(context.Context, In) (Out, error)) Route {
	return Route{method, path, operation, summary, http.StatusCreated, reflect.TypeFor[In](), reflect.TypeFor[Out](),
		func(w http.ResponseWriter, r *http.Request) {
			in, err := decode[In](w, r)
			if err != nil {
				fail(w, err)
				return
			}
			out, err := do(r.Context(), in)
			answer(w, http.StatusCreated, out, err)
		}}
}

// act is a route with an id and a body.
func act[In, Out any](method, path, operation, summary string, status int, do func(context.Context, int64, In) (Out, error)) Route {
	return Route{method, path, operation, summary, status, reflect.TypeFor[In](), reflect.TypeFor[Out](),
		func(w http.ResponseWriter, r *http.Request) {
			id, err := identifier(r)
			if err != nil {
				fail(w, err)
				return
			}
			in, err := decode[In](w, r)
			if err != nil {
				fail(w, err)
				return
			}
			out, err := do(r.Context(), id, in)
			answer(w, status, out, err)
		}}
}

// read is a route with an id and without a body.
func read[Out any](method, path, operation, summary string, do func(context.Context, int64) (Out, error)) Route {
	return Route{method, path, operation, summary, http.StatusOK, nil, reflect.TypeFor[Out](),
		func(w http.ResponseWriter, r *http.Request) {
			id, err := identifier(r)
			if err != nil {
				fail(w, err)
				return
			}
			out, err := do(r.Context(), id)
			answer(w, http.StatusOK, out, err)
		}}
}

func identifier(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, fmt.Errorf("%w: %q is not an id", service.ErrInvalid, r.PathValue("id"))
	}
	return id, nil
}

// decode reads a body that must be one JSON object with known fields only.
func decode[In any](w http.ResponseWriter, r *http.Request) (In, error) {
	var in In
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, fmt.Errorf("%w: reading the body: %w", service.ErrInvalid, err)
	}
	if err := decoder.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return in, fmt.Errorf("%w: more than one value in the body", service.ErrInvalid)
	}
	return in, nil
}

func answer(w http.ResponseWriter, status int, out any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	write(w, status, out)
}

// fail answers with an error. What is not the request's fault is not explained
// to who sent it.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, service.ErrInvalid):
		status = http.StatusBadRequest
	case errors.Is(err, service.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, service.ErrConflict):
		status = http.StatusConflict
	}
	message := err.Error()
	if status == http.StatusInternalServerError {
		message = http.StatusText(status)
	}
	write(w, status, Problem{Error: message})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Once the status is out, a client that has gone is all that can be wrong.
	_ = json.NewEncoder(w).Encode(body)
}
