// Command openapi writes the OpenAPI document of the routes, after asking each
// of them something that it must refuse.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"cashier/artifact"
	"cashier/database"
	"cashier/routes"
	"cashier/schema"
	"cashier/service"
)

func main() {
	out := flag.String("out", "build/openapi.json", "`file` to write")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	db, err := database.Open(ctx, database.Memory)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := database.Migrate(ctx, db, schema.Files); err != nil {
		return err
	}
	table := routes.Table(service.New(db, time.Now))
	handler, err := routes.Handler(table)
	if err != nil {
		return err
	}
	for _, route := range table {
		if err := refuses(handler, route); err != nil {
			return fmt.Errorf("%s %s: %w", route.Method, route.Path, err)
		}
	}
	document, err := routes.OpenAPI(table)
	if err != nil {
		return err
	}
	if err := artifact.Write(out, document); err != nil {
		return err
	}
	return artifact.Report(
		artifact.Output{Name: "operations", Value: len(table)},
		artifact.Output{Name: "location", Value: out},
		artifact.Output{Name: "summary", Value: fmt.Sprintf("%d operations described", len(table))},
	)
}

// refuses asks a route for an id that is none, with a body that is none, and
// expects to be told so by the route and not by the router.
func refuses(handler http.Handler, route routes.Route) error {
	path := strings.ReplaceAll(route.Path, "{id}", "none")
	request := httptest.NewRequest(route.Method, path, bytes.NewReader([]byte("{")))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusBadRequest {
		return fmt.Errorf("nonsense was answered with %d, not %d", answer.Code, http.StatusBadRequest)
	}
	var problem routes.Problem
	if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil || problem.Error == "" {
		return fmt.Errorf("the refusal is not a problem: %q", answer.Body)
	}
	return nil
}
