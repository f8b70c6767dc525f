// Package service is what a cashier may do: open and close a drawer, take a
// player's visit through buy-ins and cash-outs, and rate the play.
//
// Amounts are whole cents, times are Unix seconds, and every operation is one
// database transaction.
package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"cashier/gen/store"
)

// What can be wrong with a request. Every other error is the service's own.
var (
	ErrInvalid  = errors.New("invalid request")
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("not possible now")
)

// Cashier is the service as its users see it. The package instrumented is
// generated from this interface.
type Cashier interface {
	OpenDrawer(ctx context.Context, in NewDrawer) (store.Drawer, error)
	Drawer(ctx context.Context, id int64) (Drawer, error)
	CloseDrawer(ctx context.Context, id int64, in Count) (Reconciliation, error)
	RegisterPlayer(ctx context.Context, in NewPlayer) (store.Player, error)
	Player(ctx context.Context, id int64) (store.Player, error)
	StartVisit(ctx context.Context, in NewVisit) (store.Visit, error)
	Statement(ctx context.Context, visit int64) (Statement, error)
	EndVisit(ctx context.Context, visit int64) (Statement, error)
	BuyIn(ctx context.Context, visit int64, in Movement) (store.Transaction, error)
	CashOut(ctx context.Context, visit int64, in Movement) (store.Transaction, error)
	OpenSlip(ctx context.Context, visit int64, in NewSlip) (store.RatingSlip, error)
	CloseSlip(ctx context.Context, id int64, in Rating) (store.RatingSlip, error)
}

// Observer sees each new transaction of money before it is committed, within
// the same database transaction. Its error undoes the operation.
type Observer interface {
	Recorded(ctx context.Context, q store.Querier, transaction store.Transaction) error
}

// Service implements Cashier over a database. It is safe for concurrent use.
type Service struct {
	db        *sql.DB
	now       func() time.Time
	observers []Observer
}

var _ Cashier = (*Service)(nil)

// New returns a service over a migrated database.
func New(db *sql.DB, now func() time.Time, observers ...Observer) *Service {
	return &Service{db: db, now: now, observers: observers}
}

// inTx runs work in a transaction, which is undone when work fails.
func inTx[T any](ctx context.Context, db *sql.DB, work func(q store.Querier) (T, error)) (T, error) {
	var none T
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return none, fmt.Errorf("beginning a transaction: %w", err)
	}
	defer tx.Rollback()
	result, err := work(tx)
	if err != nil {
		return none, err
	}
	if err := tx.Commit(); err != nil {
		return none, fmt.Errorf("committing: %w", err)
	}
	return result, nil
}

// found turns a missing row into ErrNotFound.
func found[T any](row T, err error) (T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return row, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return row, err
}

// unix is the time as the database keeps it.
func (s *Service) unix() int64 { return s.now().Unix() }
