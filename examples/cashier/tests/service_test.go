package tests

import (
	"context"
	"errors"
	"testing"

	"cashier/gen/store"
	"cashier/service"
)

func TestDrawerIsReconciled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	must(h.BuyIn(t.Context(), h.visit.ID, h.pay(700, "in")))(t)
	must(h.CashOut(t.Context(), h.visit.ID, h.pay(200, "out")))(t)

	equal(t, "balance", must(h.Drawer(t.Context(), h.drawer.ID))(t).BalanceCents, 1500)
	closed := must(h.CloseDrawer(t.Context(), h.drawer.ID, service.Count{CountedCents: 1450}))(t)
	equal(t, "difference", closed.DifferenceCents, -50)
	equal(t, "closing time", *closed.ClosedAt, clock().Unix())
	refused(h.CloseDrawer(t.Context(), h.drawer.ID, service.Count{}))(t, service.ErrConflict)
	refused(h.BuyIn(t.Context(), h.visit.ID, h.pay(1, "late")))(t, service.ErrConflict)
	must(h.OpenDrawer(t.Context(), service.NewDrawer{Cashier: "Ada"}))(t)
}

func TestDrawerRefuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	refused(h.OpenDrawer(t.Context(), service.NewDrawer{}))(t, service.ErrInvalid)
	refused(h.OpenDrawer(t.Context(), service.NewDrawer{Cashier: "Bob", FloatCents: -1}))(t, service.ErrInvalid)
	refused(h.OpenDrawer(t.Context(), service.NewDrawer{Cashier: "Ada"}))(t, service.ErrConflict)
	refused(h.Drawer(t.Context(), 99))(t, service.ErrNotFound)
	refused(h.CloseDrawer(t.Context(), 99, service.Count{}))(t, service.ErrNotFound)
	refused(h.CloseDrawer(t.Context(), h.drawer.ID, service.Count{CountedCents: -1}))(t, service.ErrInvalid)
}

func TestPlayerAndVisitRefuse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	refused(h.RegisterPlayer(t.Context(), service.NewPlayer{Name: "Grace"}))(t, service.ErrInvalid)
	refused(h.RegisterPlayer(t.Context(), service.NewPlayer{Name: "Other", Card: "C-1"}))(t, service.ErrConflict)
	refused(h.Player(t.Context(), 99))(t, service.ErrNotFound)
	refused(h.StartVisit(t.Context(), service.NewVisit{PlayerID: 99}))(t, service.ErrNotFound)
	refused(h.StartVisit(t.Context(), service.NewVisit{PlayerID: h.player.ID}))(t, service.ErrConflict)
	refused(h.Statement(t.Context(), 99))(t, service.ErrNotFound)
	refused(h.EndVisit(t.Context(), 99))(t, service.ErrNotFound)
	equal(t, "player", must(h.Player(t.Context(), h.player.ID))(t), h.player)
}

func TestVisitIsAccounted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	must(h.BuyIn(t.Context(), h.visit.ID, h.pay(500, "a")))(t)
	must(h.BuyIn(t.Context(), h.visit.ID, h.pay(250, "b")))(t)
	must(h.CashOut(t.Context(), h.visit.ID, h.pay(900, "c")))(t)
	slip := must(h.OpenSlip(t.Context(), h.visit.ID, service.NewSlip{TableName: "BJ-3", AverageBetCents: 25}))(t)

	refused(h.EndVisit(t.Context(), h.visit.ID))(t, service.ErrConflict)
	must(h.CloseSlip(t.Context(), slip.ID, service.Rating{AverageBetCents: 40}))(t)
	ended := must(h.EndVisit(t.Context(), h.visit.ID))(t)

	equal(t, "buy-ins", ended.BuyInCents, 750)
	equal(t, "cash-outs", ended.CashOutCents, 900)
	equal(t, "net", ended.NetCents, 150)
	equal(t, "number of transactions", len(ended.Transactions), 3)
	equal(t, "average bet", ended.Slips[0].AverageBetCents, 40)
	equal(t, "net afterwards", must(h.Statement(t.Context(), h.visit.ID))(t).NetCents, 150)
	refused(h.EndVisit(t.Context(), h.visit.ID))(t, service.ErrConflict)
	must(h.StartVisit(t.Context(), service.NewVisit{PlayerID: h.player.ID}))(t)
}

func TestMovementRefuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cases := []struct {
		name  string
		visit int64
		in    service.Movement
		want  error
	}{
		{"nothing", h.visit.ID, h.pay(0, "k"), service.ErrInvalid},
		{"too much", h.visit.ID, h.pay(service.MaxAmountCents+1, "k"), service.ErrInvalid},
		{"no key", h.visit.ID, h.pay(1, ""), service.ErrInvalid},
		{"no visit", 99, h.pay(1, "k"), service.ErrNotFound},
		{"no drawer", h.visit.ID, service.Movement{DrawerID: 99, AmountCents: 1, IdempotencyKey: "k"}, service.ErrNotFound},
		{"more than the drawer holds", h.visit.ID, h.pay(1001, "k"), service.ErrConflict},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refused(h.CashOut(t.Context(), c.visit, c.in))(t, c.want)
		})
	}
	equal(t, "balance", must(h.Drawer(t.Context(), h.drawer.ID))(t).BalanceCents, 1000)
}

func TestMovementIsDoneOncePerKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := must(h.CashOut(t.Context(), h.visit.ID, h.pay(800, "k")))(t)
	// The drawer could not pay this twice: a repetition is answered, not done.
	again := must(h.CashOut(t.Context(), h.visit.ID, h.pay(800, "k")))(t)
	equal(t, "repetition", again, first)
	refused(h.CashOut(t.Context(), h.visit.ID, h.pay(1, "k")))(t, service.ErrConflict)
	refused(h.BuyIn(t.Context(), h.visit.ID, h.pay(800, "k")))(t, service.ErrConflict)
	equal(t, "balance", must(h.Drawer(t.Context(), h.drawer.ID))(t).BalanceCents, 200)
}

func TestSlipRefuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	slip := must(h.OpenSlip(t.Context(), h.visit.ID, service.NewSlip{TableName: "BJ-3", AverageBetCents: 25}))(t)
	refused(h.OpenSlip(t.Context(), h.visit.ID, service.NewSlip{AverageBetCents: 25}))(t, service.ErrInvalid)
	refused(h.OpenSlip(t.Context(), h.visit.ID, service.NewSlip{TableName: "BJ-4"}))(t, service.ErrInvalid)
	refused(h.OpenSlip(t.Context(), h.visit.ID, service.NewSlip{TableName: "BJ-3", AverageBetCents: 5}))(t, service.ErrConflict)
	refused(h.OpenSlip(t.Context(), 99, service.NewSlip{TableName: "BJ-3", AverageBetCents: 5}))(t, service.ErrNotFound)
	refused(h.CloseSlip(t.Context(), slip.ID, service.Rating{}))(t, service.ErrInvalid)
	refused(h.CloseSlip(t.Context(), 99, service.Rating{AverageBetCents: 5}))(t, service.ErrNotFound)
	must(h.CloseSlip(t.Context(), slip.ID, service.Rating{AverageBetCents: 5}))(t)
	refused(h.CloseSlip(t.Context(), slip.ID, service.Rating{AverageBetCents: 5}))(t, service.ErrConflict)
}

var errObserver = errors.New("observer says no")

// veto is an observer that refuses every transaction.
type veto struct{}

func (veto) Recorded(context.Context, store.Querier, store.Transaction) error { return errObserver }

func TestObserverUndoesTheMovement(t *testing.T) {
	t.Parallel()
	h := newHouse(t, veto{})
	refused(h.BuyIn(t.Context(), h.visit.ID, h.pay(5, "k")))(t, errObserver)
	equal(t, "balance", must(h.Drawer(t.Context(), h.drawer.ID))(t).BalanceCents, 1000)
}

func TestDatabaseFailureIsReported(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.db.Close()
	if _, err := h.Drawer(t.Context(), h.drawer.ID); err == nil {
		t.Error("a closed database gave a drawer")
	}
	if _, err := h.Player(t.Context(), h.player.ID); err == nil || errors.Is(err, service.ErrNotFound) {
		t.Errorf("a closed database gave %v", err)
	}
}
