package service

import (
	"context"
	"fmt"

	"cashier/gen/store"
)

// NewPlayer asks for a player to be registered.
type NewPlayer struct {
	Name string `json:"name"`
	Card string `json:"card"`
}

// NewVisit asks for a player's visit to be started.
type NewVisit struct {
	PlayerID int64 `json:"player_id"`
}

// Statement is a visit with its money and its play.
type Statement struct {
	store.Visit
	BuyInCents   int64               `json:"buy_in_cents"`
	CashOutCents int64               `json:"cash_out_cents"`
	NetCents     int64               `json:"net_cents"` // what the player is ahead
	Transactions []store.Transaction `json:"transactions"`
	Slips        []store.RatingSlip  `json:"slips"`
}

// RegisterPlayer registers a player under a card that nobody else has.
func (s *Service) RegisterPlayer(ctx context.Context, in NewPlayer) (store.Player, error) {
	if in.Name == "" || in.Card == "" {
		return store.Player{}, fmt.Errorf("%w: name and card are needed", ErrInvalid)
	}
	return inTx(ctx, s.db, func(q store.Querier) (store.Player, error) {
		holders, err := store.SelectPlayers(ctx, q, "card = ?", in.Card)
		if err != nil {
			return store.Player{}, err
		}
		if len(holders) > 0 {
			return store.Player{}, fmt.Errorf("%w: card %s belongs to player %d", ErrConflict, in.Card, holders[0].ID)
		}
		return store.InsertPlayer(ctx, q, store.Player{Name: in.Name, Card: in.Card, RegisteredAt: s.unix()})
	})
}

// Player returns a player.
func (s *Service) Player(ctx context.Context, id int64) (store.Player, error) {
	return found(store.GetPlayer(ctx, s.db, id))
}

// StartVisit starts a visit. A player has one open visit at a time.
func (s *Service) StartVisit(ctx context.Context, in NewVisit) (store.Visit, error) {
	return inTx(ctx, s.db, func(q store.Querier) (store.Visit, error) {
		player, err := found(store.GetPlayer(ctx, q, in.PlayerID))
		if err != nil {
			return store.Visit{}, err
		}
		open, err := store.SelectVisits(ctx, q, "player_id = ? AND ended_at IS NULL", player.ID)
		if err != nil {
			return store.Visit{}, err
		}
		if len(open) > 0 {
			return store.Visit{}, fmt.Errorf("%w: player %d is on visit %d", ErrConflict, player.ID, open[0].ID)
		}
		return store.InsertVisit(ctx, q, store.Visit{PlayerID: player.ID, StartedAt: s.unix()})
	})
}

// Statement returns the account of a visit so far.
func (s *Service) Statement(ctx context.Context, visit int64) (Statement, error) {
	return inTx(ctx, s.db, func(q store.Querier) (Statement, error) {
		row, err := found(store.GetVisit(ctx, q, visit))
		if err != nil {
			return Statement{}, err
		}
		return statement(ctx, q, row)
	})
}

// EndVisit ends a visit whose slips are all closed, and returns its account.
func (s *Service) EndVisit(ctx context.Context, visit int64) (Statement, error) {
	return inTx(ctx, s.db, func(q store.Querier) (Statement, error) {
		row, err := openVisit(ctx, q, visit)
		if err != nil {
			return Statement{}, err
		}
		open, err := store.SelectRatingSlips(ctx, q, "visit_id = ? AND closed_at IS NULL", visit)
		if err != nil {
			return Statement{}, err
		}
		if len(open) > 0 {
			return Statement{}, fmt.Errorf("%w: rating slip %d is open", ErrConflict, open[0].ID)
		}
		now := s.unix()
		row.EndedAt = &now
		if err := store.UpdateVisit(ctx, q, row); err != nil {
			return Statement{}, err
		}
		return statement(ctx, q, row)
	})
}

func statement(ctx context.Context, q store.Querier, visit store.Visit) (Statement, error) {
	transactions, err := store.SelectTransactions(ctx, q, "visit_id = ? ORDER BY id", visit.ID)
	if err != nil {
		return Statement{}, err
	}
	slips, err := store.SelectRatingSlips(ctx, q, "visit_id = ? ORDER BY id", visit.ID)
	if err != nil {
		return Statement{}, err
	}
	account := Statement{Visit: visit, Transactions: transactions, Slips: slips}
	for _, t := range transactions {
		if t.Kind == BuyIn {
			account.BuyInCents += t.AmountCents
		} else {
			account.CashOutCents += t.AmountCents
		}
	}
	account.NetCents = account.CashOutCents - account.BuyInCents
	return account, nil
}

func openVisit(ctx context.Context, q store.Querier, id int64) (store.Visit, error) {
	visit, err := found(store.GetVisit(ctx, q, id))
	if err == nil && visit.EndedAt != nil {
		return store.Visit{}, fmt.Errorf("%w: visit %d has ended", ErrConflict, id)
	}
	return visit, err
}
