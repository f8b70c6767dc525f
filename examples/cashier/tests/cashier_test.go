// Package tests holds the tests of the module, from outside its packages: one
// binary, and so one link of the database driver.
package tests

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"cashier/database"
	"cashier/gen/store"
	"cashier/schema"
	"cashier/service"
)

// clock is the time of every test.
func clock() time.Time { return time.Unix(1_760_000_000, 0) }

// newDatabase returns a migrated database in memory.
func newDatabase(t *testing.T) *sql.DB {
	t.Helper()
	db := must(database.Open(t.Context(), database.Memory))(t)
	t.Cleanup(func() { db.Close() })
	must(database.Migrate(t.Context(), db, schema.Files))(t)
	return db
}

// house is a service with an open drawer and a player on a visit.
type house struct {
	*service.Service
	db     *sql.DB
	drawer store.Drawer
	player store.Player
	visit  store.Visit
}

func newHouse(t *testing.T, observers ...service.Observer) house {
	t.Helper()
	db := newDatabase(t)
	h := house{Service: service.New(db, clock, observers...), db: db}
	h.drawer = must(h.OpenDrawer(t.Context(), service.NewDrawer{Cashier: "Ada", FloatCents: 1000}))(t)
	h.player = must(h.RegisterPlayer(t.Context(), service.NewPlayer{Name: "Grace", Card: "C-1"}))(t)
	h.visit = must(h.StartVisit(t.Context(), service.NewVisit{PlayerID: h.player.ID}))(t)
	return h
}

// pay is a movement of the house's drawer.
func (h house) pay(cents int64, key string) service.Movement {
	return service.Movement{DrawerID: h.drawer.ID, AmountCents: cents, IdempotencyKey: key}
}

// must takes the results of a call that may not fail.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// refused takes the results of a call that must fail with the wanted error.
func refused[T any](_ T, err error) func(*testing.T, error) {
	return func(t *testing.T, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Fatalf("error is %v, want %v", err, want)
		}
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
