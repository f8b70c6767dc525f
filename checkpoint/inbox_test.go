package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

var errNotWaiting = errors.New("gate lint (WS3) does not wait for approval")

// answer waits for one request as an owner's loop does, and answers it.
func answer(t *testing.T, x *Session, refusal error) Request {
	t.Helper()
	for {
		requests, err := x.Requests()
		must(t, err)
		if len(requests) == 0 {
			runtime.Gosched()
			continue
		}
		if refusal == nil {
			commit(t, x, state.PauseAsked{By: requests[0].By, Reason: requests[0].Comment})
		}
		must(t, x.Answer(requests[0], refusal))
		return requests[0]
	}
}

func nobody(*Session) error { return errors.New("there is an owner") }

func TestAskTheOwner(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{nil, errNotWaiting} {
		f := inMemory(t)
		x := f.run()
		s := f.open()
		done := make(chan error, 1)
		request := Request{PRD: "PRD-009", Verb: VerbPause, Comment: "tea\xff", By: state.Actor{User: "bo"}}
		go func() { done <- s.Ask(context.Background(), request, nobody) }()
		got := answer(t, x, refusal)
		if got.ID == "" || got.Verb != VerbPause || got.Comment != "tea\xff" || got.At.IsZero() {
			t.Errorf("request %+v", got)
		}
		err := <-done
		var refused *RefusedError
		switch {
		case refusal == nil && err != nil, refusal != nil && (!errors.As(err, &refused) || refused.Message != refusal.Error()):
			t.Errorf("ask: %v", err)
		}
		if entries, err := f.fs.ReadDir(s.layout.InboxPath("PRD-009")); err != nil || len(entries) != 0 {
			t.Errorf("the inbox holds %v, %v", entries, err)
		}
		must(t, x.Close())
	}
}

// TestARequestOfANewerVersionIsRefused: what it asks for may mean something else.
func TestARequestOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	m := Mail{FormatVersion: "9.0", Request: Request{ID: "asked", PRD: "PRD-009", Verb: VerbPause, By: by}, Asker: disk.NewHolder(by, f.open().Now())}
	data, err := state.EncodeJSON(m)
	must(t, err)
	f.write("PRD-009/inbox/asked.request.json", data)
	if requests, err := x.Requests(); err != nil || len(requests) != 0 {
		t.Fatalf("it was taken for %+v, %v", requests, err)
	}
	var reply mail
	must(t, json.Unmarshal(f.read("PRD-009/inbox/asked.reply.json"), &reply))
	if !strings.Contains(string(reply.Error), "9.0") || !strings.Contains(string(reply.Error), "upgrade runner") {
		t.Errorf("the reply is %q", reply.Error)
	}
	must(t, x.Close())
}

func TestAskAlone(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	if err := f.open().Ask(context.Background(), Request{PRD: "PRD-009", Verb: VerbPause}, nobody); !errors.Is(err, ErrNoSession) {
		t.Errorf("ask for nothing: %v", err)
	}
	if _, err := f.fs.Lstat(f.dir); err == nil {
		t.Error("asking for nothing created the state directory")
	}
	x := f.run()
	must(t, x.Close())
	err := f.open().Ask(context.Background(), Request{PRD: "PRD-009", Verb: VerbPause}, func(x *Session) error {
		x.Add(state.PauseAsked{By: by})
		return nil
	})
	must(t, err)
	snap, err := f.open().Load("PRD-009")
	must(t, err)
	if snap.State.Requested == nil || snap.Owner != nil {
		t.Errorf("state %+v, owner %+v", snap.State.Requested, snap.Owner)
	}
}

// TestAskADyingOwner: the owner ends without a word, with and without having
// claimed the request.
func TestAskADyingOwner(t *testing.T) {
	t.Parallel()
	for _, claims := range []bool{true, false} {
		f := inMemory(t)
		x := f.run()
		s := f.open()
		done := make(chan error, 1)
		asked := 0
		go func() {
			done <- s.Ask(context.Background(), Request{PRD: "PRD-009", Verb: VerbPause}, func(*Session) error {
				asked++
				return nil
			})
		}()
		f.awaitRequest()
		if claims {
			if requests, err := x.Requests(); err != nil || len(requests) != 1 {
				t.Fatalf("requests %v, %v", requests, err)
			}
		}
		kill(t, x)
		must(t, <-done)
		if asked != 1 {
			t.Errorf("carried out %d times", asked)
		}
		if entries, err := f.fs.ReadDir(s.layout.InboxPath("PRD-009")); err != nil || len(entries) != 0 {
			t.Errorf("left in the inbox: %v, %v", entries, err)
		}
	}
}

// awaitRequest returns when a request lies in the inbox.
func (f *fixture) awaitRequest() {
	for {
		entries, err := f.fs.ReadDir(f.open().layout.InboxPath("PRD-009"))
		if err == nil && len(entries) == 1 && strings.HasSuffix(entries[0].Name(), RequestExt) {
			return
		}
		runtime.Gosched()
	}
}

func TestAskIsWithdrawn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	s := f.open()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Ask(ctx, Request{PRD: "PRD-009", Verb: VerbPause}, nobody) }()
	f.awaitRequest()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("ask: %v", err)
	}
	if requests, err := x.Requests(); err != nil || len(requests) != 0 {
		t.Errorf("a withdrawn request came through: %v, %v", requests, err)
	}
	must(t, x.Close())
}

func TestFollow(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	s := f.open()
	seen := make(chan state.Commit)
	failed := make(chan error, 1)
	go func() {
		defer close(seen)
		for c, err := range s.Follow(context.Background(), "PRD-009", 3) {
			if err != nil {
				failed <- err
				return
			}
			seen <- c
		}
		failed <- nil
	}()
	expect := func(from, to uint64) {
		t.Helper()
		for want := from; want <= to; want++ {
			if c := <-seen; c.Seq != want {
				t.Fatalf("followed commit %d, want %d", c.Seq, want)
			}
		}
	}
	expect(3, x.Durable())
	commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
	expect(x.Durable(), x.Durable())
	must(t, x.Start(started("S2", cashier()))) // replaces what is followed
	expect(1, 1)
	commit(t, x, state.PhaseStarted{Phase: "phase-1"})
	expect(2, 2)
	must(t, x.Close())
	if c, ok := <-seen; ok {
		t.Errorf("followed commit %d after the end", c.Seq)
	}
	must(t, <-failed)
}
