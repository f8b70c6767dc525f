package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

var errNotWaiting = errors.New("gate lint (WS3) does not wait for approval")

// answer waits for one request, as an owner's loop does, and answers it with refusal, or
// with a pause if refusal is nil.
func answer(t *testing.T, x *checkpoint.Session, refusal error) checkpoint.Request {
	t.Helper()
	for {
		requests, err := x.Requests()
		checkpointtest.Must(t, err)
		if len(requests) == 0 {
			runtime.Gosched()
			continue
		}
		if refusal == nil {
			checkpointtest.Commit(t, x, state.PauseAsked{By: requests[0].By, Reason: requests[0].Comment})
		}
		checkpointtest.Must(t, x.Answer(requests[0], refusal))
		return requests[0]
	}
}

// nobody is the callback of Ask for tests in which the PRD has an owner. Ask must not
// call nobody.
func nobody(*checkpoint.Session) error { return errors.New("called although the PRD has an owner") }

// TestAskTheOwner asks an owner that accepts the request and one that refuses it. Ask
// must return the owner's answer, and the inbox must be empty afterwards.
func TestAskTheOwner(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{nil, errNotWaiting} {
		f := checkpointtest.InMemory(t)
		x := f.Run()
		s := f.Open()
		done := make(chan error, 1)
		request := checkpoint.Request{PRD: "PRD-009", Verb: checkpoint.VerbPause, Comment: "tea\xff", By: state.Actor{User: "bo"}}
		go func() { done <- s.Ask(context.Background(), request, nobody) }()
		got := answer(t, x, refusal)
		if got.ID == "" || got.Verb != checkpoint.VerbPause || got.Comment != "tea\xff" || got.At.IsZero() {
			t.Errorf("request %+v", got)
		}
		err := <-done
		var refused *checkpoint.RefusedError
		switch {
		case refusal == nil && err != nil, refusal != nil && (!errors.As(err, &refused) || refused.Message != refusal.Error()):
			t.Errorf("ask: %v", err)
		}
		if entries, err := f.FS.ReadDir(s.Layout().InboxPath("PRD-009")); err != nil || len(entries) != 0 {
			t.Errorf("the inbox holds %v, %v", entries, err)
		}
		checkpointtest.Must(t, x.Close())
	}
}

// TestARequestOfANewerVersionIsRefused puts a request of version 9.0 into the inbox. The
// owner must refuse the request, because its meaning may have changed, with a reply that
// names the version and says what to do.
func TestARequestOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	m := checkpoint.Mail{FormatVersion: "9.0", Request: checkpoint.Request{ID: "asked", PRD: "PRD-009", Verb: checkpoint.VerbPause, By: checkpointtest.By}, Asker: disk.NewHolder(checkpointtest.By, f.Open().Now())}
	data, err := state.EncodeJSON(m)
	checkpointtest.Must(t, err)
	f.Write("PRD-009/inbox/asked.request.json", data)
	if requests, err := x.Requests(); err != nil || len(requests) != 0 {
		t.Fatalf("requests %+v, %v; want none", requests, err)
	}
	var reply checkpoint.Mail
	checkpointtest.Must(t, json.Unmarshal(f.Read("PRD-009/inbox/asked.reply.json"), &reply))
	if !strings.Contains(string(reply.Error), "9.0") || !strings.Contains(string(reply.Error), "upgrade runner") {
		t.Errorf("the reply is %q", reply.Error)
	}
	checkpointtest.Must(t, x.Close())
}

// TestAskAlone asks while the PRD has no owner. Without a session, Ask must fail and
// create nothing. With a session, Ask must carry out the request by itself and release
// the lock.
func TestAskAlone(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	if err := f.Open().Ask(context.Background(), checkpoint.Request{PRD: "PRD-009", Verb: checkpoint.VerbPause}, nobody); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("ask for nothing: %v", err)
	}
	if _, err := f.FS.Lstat(f.Dir); err == nil {
		t.Error("asking for nothing created the state directory")
	}
	x := f.Run()
	checkpointtest.Must(t, x.Close())
	err := f.Open().Ask(context.Background(), checkpoint.Request{PRD: "PRD-009", Verb: checkpoint.VerbPause}, func(x *checkpoint.Session) error {
		x.Add(state.PauseAsked{By: checkpointtest.By})
		return nil
	})
	checkpointtest.Must(t, err)
	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if snap.State.Requested == nil || snap.Owner != nil {
		t.Errorf("state %+v, owner %+v", snap.State.Requested, snap.Owner)
	}
}

// TestAskADyingOwner kills the owner before the owner answers, with and without having
// claimed the request. Ask must carry out the request itself, once.
func TestAskADyingOwner(t *testing.T) {
	t.Parallel()
	for _, claims := range []bool{true, false} {
		f := checkpointtest.InMemory(t)
		x := f.Run()
		s := f.Open()
		done := make(chan error, 1)
		asked := 0
		go func() {
			done <- s.Ask(context.Background(), checkpoint.Request{PRD: "PRD-009", Verb: checkpoint.VerbPause}, func(*checkpoint.Session) error {
				asked++
				return nil
			})
		}()
		awaitRequest(f)
		if claims {
			if requests, err := x.Requests(); err != nil || len(requests) != 1 {
				t.Fatalf("requests %v, %v", requests, err)
			}
		}
		checkpointtest.Kill(t, x)
		checkpointtest.Must(t, <-done)
		if asked != 1 {
			t.Errorf("carried out %d times", asked)
		}
		if entries, err := f.FS.ReadDir(s.Layout().InboxPath("PRD-009")); err != nil || len(entries) != 0 {
			t.Errorf("the inbox holds %v, %v", entries, err)
		}
	}
}

// awaitRequest returns once the inbox holds a request.
func awaitRequest(f *checkpointtest.Fixture) {
	for {
		entries, err := f.FS.ReadDir(f.Open().Layout().InboxPath("PRD-009"))
		if err == nil && len(entries) == 1 && strings.HasSuffix(entries[0].Name(), checkpoint.RequestExt) {
			return
		}
		runtime.Gosched()
	}
}

// TestAskIsWithdrawn cancels the context of an Ask that waits for the owner. Ask must say
// that the request is withdrawn, and the owner must not get the request.
func TestAskIsWithdrawn(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	s := f.Open()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Ask(ctx, checkpoint.Request{PRD: "PRD-009", Verb: checkpoint.VerbPause}, nobody) }()
	awaitRequest(f)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("ask: %v", err)
	}
	if requests, err := x.Requests(); err != nil || len(requests) != 0 {
		t.Errorf("the owner got a withdrawn request: %v, %v", requests, err)
	}
	checkpointtest.Must(t, x.Close())
}

// TestFollow follows a session from commit 3. Follow must yield each commit once,
// continue with the next session when Start replaces the session, and end when the owner
// closes.
func TestFollow(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	s := f.Open()
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
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
	expect(x.Durable(), x.Durable())
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier()))) // replaces the journal that is followed
	expect(1, 1)
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "phase-1"})
	expect(2, 2)
	checkpointtest.Must(t, x.Close())
	if c, ok := <-seen; ok {
		t.Errorf("followed commit %d after the end", c.Seq)
	}
	checkpointtest.Must(t, <-failed)
}
