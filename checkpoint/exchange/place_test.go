package exchange_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/state"
)

// TestPlace: a document is placed only where there is neither a session nor a document.
func TestPlace(t *testing.T) {
	t.Parallel()
	s, err := checkpoint.OpenStore(t.TempDir()+"/state", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	taken, err := exchange.Import(exchange.Crunch, "testdata/crunch", targets()[exchange.Crunch])
	if err != nil {
		t.Fatal(err)
	}
	path, err := exchange.Place(t.Context(), s, taken.Document)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), `"MSG-7"`) {
		t.Fatalf("%s, %v", data, err)
	}
	var occupied *exchange.OccupiedError
	if _, err := exchange.Place(t.Context(), s, taken.Document); !errors.As(err, &occupied) || occupied.Session != nil || occupied.Document != path {
		t.Errorf("over a document: %v", err)
	}
	x, err := s.Lock(t.Context(), "PRD-042", state.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	err = x.Start(state.SessionStarted{Session: "b", PRD: "PRD-042", Shape: targets()[exchange.Crunch].Shape, Imported: &taken.Document.Document})
	if err := errors.Join(err, x.Commit(t.Context()), x.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := exchange.Place(t.Context(), s, taken.Document); !errors.As(err, &occupied) || occupied.Session == nil {
		t.Errorf("over a session: %v", err)
	}
}
