package service

import (
	"context"
	"fmt"

	"cashier/gen/store"
)

// NewDrawer asks for a drawer to be opened.
type NewDrawer struct {
	Cashier    string `json:"cashier"`
	FloatCents int64  `json:"float_cents"`
}

// Drawer is a drawer with the cash that must be in it.
type Drawer struct {
	store.Drawer
	BalanceCents int64 `json:"balance_cents"`
}

// Count is the cash that was counted in a drawer.
type Count struct {
	CountedCents int64 `json:"counted_cents"`
}

// Reconciliation compares the cash that must be in a drawer with what was
// counted. A negative difference is cash that is missing.
type Reconciliation struct {
	Drawer
	DifferenceCents int64 `json:"difference_cents"`
}

// OpenDrawer opens a drawer with a float. A cashier has one open drawer at a time.
func (s *Service) OpenDrawer(ctx context.Context, in NewDrawer) (store.Drawer, error) {
	switch {
	case in.Cashier == "":
		return store.Drawer{}, fmt.Errorf("%w: cashier is missing", ErrInvalid)
	case in.FloatCents < 0:
		return store.Drawer{}, fmt.Errorf("%w: float_cents is negative", ErrInvalid)
	}
	return inTx(ctx, s.db, func(q store.Querier) (store.Drawer, error) {
		open, err := store.SelectDrawers(ctx, q, "cashier = ? AND closed_at IS NULL", in.Cashier)
		if err != nil {
			return store.Drawer{}, err
		}
		if len(open) > 0 {
			return store.Drawer{}, fmt.Errorf("%w: %s has drawer %d open", ErrConflict, in.Cashier, open[0].ID)
		}
		return store.InsertDrawer(ctx, q, store.Drawer{
			Cashier: in.Cashier, FloatCents: in.FloatCents, OpenedAt: s.unix(),
		})
	})
}

// Drawer returns a drawer and its balance.
func (s *Service) Drawer(ctx context.Context, id int64) (Drawer, error) {
	return inTx(ctx, s.db, func(q store.Querier) (Drawer, error) { return drawer(ctx, q, id) })
}

// CloseDrawer closes a drawer with the cash that was counted in it.
func (s *Service) CloseDrawer(ctx context.Context, id int64, in Count) (Reconciliation, error) {
	if in.CountedCents < 0 {
		return Reconciliation{}, fmt.Errorf("%w: counted_cents is negative", ErrInvalid)
	}
	return inTx(ctx, s.db, func(q store.Querier) (Reconciliation, error) {
		d, err := openDrawer(ctx, q, id)
		if err != nil {
			return Reconciliation{}, err
		}
		now := s.unix()
		d.ClosedAt, d.CountedCents = &now, &in.CountedCents
		if err := store.UpdateDrawer(ctx, q, d.Drawer); err != nil {
			return Reconciliation{}, err
		}
		return Reconciliation{Drawer: d, DifferenceCents: in.CountedCents - d.BalanceCents}, nil
	})
}

// drawer reads a drawer and sums up its transactions.
func drawer(ctx context.Context, q store.Querier, id int64) (Drawer, error) {
	row, err := found(store.GetDrawer(ctx, q, id))
	if err != nil {
		return Drawer{}, err
	}
	transactions, err := store.SelectTransactions(ctx, q, "drawer_id = ?", id)
	if err != nil {
		return Drawer{}, err
	}
	d := Drawer{Drawer: row, BalanceCents: row.FloatCents}
	for _, t := range transactions {
		if t.Kind == BuyIn {
			d.BalanceCents += t.AmountCents
		} else {
			d.BalanceCents -= t.AmountCents
		}
	}
	return d, nil
}

func openDrawer(ctx context.Context, q store.Querier, id int64) (Drawer, error) {
	d, err := drawer(ctx, q, id)
	if err == nil && d.ClosedAt != nil {
		return Drawer{}, fmt.Errorf("%w: drawer %d is closed", ErrConflict, id)
	}
	return d, err
}
