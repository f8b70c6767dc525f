package service

import (
	"context"
	"fmt"

	"cashier/gen/store"
)

// The kinds of transaction, as the database knows them.
const (
	BuyIn   = "buy_in"
	CashOut = "cash_out"
)

// MaxAmountCents is the most that one transaction may move. It also keeps sums
// far from overflow.
const MaxAmountCents = 1_000_000_000

// Movement asks for cash to be moved between a drawer and a visit. The same
// key asks for the same movement, however often it is sent.
type Movement struct {
	DrawerID       int64  `json:"drawer_id"`
	AmountCents    int64  `json:"amount_cents"`
	IdempotencyKey string `json:"idempotency_key"`
}

// BuyIn takes cash into a drawer for chips.
func (s *Service) BuyIn(ctx context.Context, visit int64, in Movement) (store.Transaction, error) {
	return s.move(ctx, visit, BuyIn, in)
}

// CashOut pays cash out of a drawer, which must hold it, for chips.
func (s *Service) CashOut(ctx context.Context, visit int64, in Movement) (store.Transaction, error) {
	return s.move(ctx, visit, CashOut, in)
}

func (s *Service) move(ctx context.Context, visit int64, kind string, in Movement) (store.Transaction, error) {
	if in.AmountCents <= 0 || in.AmountCents > MaxAmountCents {
		return store.Transaction{}, fmt.Errorf("%w: amount_cents must be from 1 to %d", ErrInvalid, MaxAmountCents)
	}
	if in.IdempotencyKey == "" {
		return store.Transaction{}, fmt.Errorf("%w: idempotency_key is missing", ErrInvalid)
	}
	wanted := store.Transaction{
		DrawerID: in.DrawerID, VisitID: visit, Kind: kind,
		AmountCents: in.AmountCents, IdempotencyKey: in.IdempotencyKey,
	}
	return inTx(ctx, s.db, func(q store.Querier) (store.Transaction, error) {
		earlier, err := store.SelectTransactions(ctx, q, "idempotency_key = ?", in.IdempotencyKey)
		if err != nil {
			return store.Transaction{}, err
		}
		if len(earlier) > 0 {
			return repeated(earlier[0], wanted)
		}
		return s.record(ctx, q, wanted)
	})
}

// repeated answers a request whose key was used before.
func repeated(earlier, wanted store.Transaction) (store.Transaction, error) {
	wanted.ID, wanted.RecordedAt = earlier.ID, earlier.RecordedAt
	if earlier != wanted {
		return store.Transaction{}, fmt.Errorf("%w: idempotency_key %s was used for transaction %d",
			ErrConflict, wanted.IdempotencyKey, earlier.ID)
	}
	return earlier, nil
}

func (s *Service) record(ctx context.Context, q store.Querier, wanted store.Transaction) (store.Transaction, error) {
	if _, err := openVisit(ctx, q, wanted.VisitID); err != nil {
		return store.Transaction{}, err
	}
	d, err := openDrawer(ctx, q, wanted.DrawerID)
	if err != nil {
		return store.Transaction{}, err
	}
	if wanted.Kind == CashOut && wanted.AmountCents > d.BalanceCents {
		return store.Transaction{}, fmt.Errorf("%w: drawer %d holds %d cents, %d were asked for",
			ErrConflict, d.ID, d.BalanceCents, wanted.AmountCents)
	}
	wanted.RecordedAt = s.unix()
	recorded, err := store.InsertTransaction(ctx, q, wanted)
	if err != nil {
		return store.Transaction{}, err
	}
	for _, o := range s.observers {
		if err := o.Recorded(ctx, q, recorded); err != nil {
			return store.Transaction{}, fmt.Errorf("observing transaction %d: %w", recorded.ID, err)
		}
	}
	return recorded, nil
}
