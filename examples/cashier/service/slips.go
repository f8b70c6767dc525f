package service

import (
	"context"
	"fmt"

	"cashier/gen/store"
)

// NewSlip asks for a rating slip to be opened.
type NewSlip struct {
	TableName       string `json:"table_name"`
	AverageBetCents int64  `json:"average_bet_cents"`
}

// Rating is the final judgement of the play on a slip.
type Rating struct {
	AverageBetCents int64 `json:"average_bet_cents"`
}

// OpenSlip opens a rating slip. A visit has one open slip at a table.
func (s *Service) OpenSlip(ctx context.Context, visit int64, in NewSlip) (store.RatingSlip, error) {
	if in.TableName == "" {
		return store.RatingSlip{}, fmt.Errorf("%w: table_name is missing", ErrInvalid)
	}
	if err := checkBet(in.AverageBetCents); err != nil {
		return store.RatingSlip{}, err
	}
	return inTx(ctx, s.db, func(q store.Querier) (store.RatingSlip, error) {
		if _, err := openVisit(ctx, q, visit); err != nil {
			return store.RatingSlip{}, err
		}
		const condition = "visit_id = ? AND table_name = ? AND closed_at IS NULL"
		open, err := store.SelectRatingSlips(ctx, q, condition, visit, in.TableName)
		if err != nil {
			return store.RatingSlip{}, err
		}
		if len(open) > 0 {
			return store.RatingSlip{}, fmt.Errorf("%w: rating slip %d is open at %s", ErrConflict, open[0].ID, in.TableName)
		}
		return store.InsertRatingSlip(ctx, q, store.RatingSlip{
			VisitID: visit, TableName: in.TableName, AverageBetCents: in.AverageBetCents, OpenedAt: s.unix(),
		})
	})
}

// CloseSlip closes a rating slip with its final average bet.
func (s *Service) CloseSlip(ctx context.Context, id int64, in Rating) (store.RatingSlip, error) {
	if err := checkBet(in.AverageBetCents); err != nil {
		return store.RatingSlip{}, err
	}
	return inTx(ctx, s.db, func(q store.Querier) (store.RatingSlip, error) {
		slip, err := found(store.GetRatingSlip(ctx, q, id))
		if err != nil {
			return store.RatingSlip{}, err
		}
		if slip.ClosedAt != nil {
			return store.RatingSlip{}, fmt.Errorf("%w: rating slip %d is closed", ErrConflict, id)
		}
		now := s.unix()
		slip.ClosedAt, slip.AverageBetCents = &now, in.AverageBetCents
		if err := store.UpdateRatingSlip(ctx, q, slip); err != nil {
			return store.RatingSlip{}, err
		}
		return slip, nil
	})
}

func checkBet(cents int64) error {
	if cents <= 0 || cents > MaxAmountCents {
		return fmt.Errorf("%w: average_bet_cents must be from 1 to %d", ErrInvalid, MaxAmountCents)
	}
	return nil
}
