package savepoint_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"prdrunner/checkpoint/savepoint"
)

// endsSessions reports whether a message has PostgreSQL end sessions.
func endsSessions(message []byte) bool {
	return bytes.Contains(message, []byte("pg_terminate_backend"))
}

// putProxy puts a proxy between a subject and its server, and returns a savepoint as one of
// the database there: the address of a server is a part of the identity.
func putProxy(t *testing.T, u *subject, point *savepoint.Savepoint, delay func(message []byte)) *savepoint.Savepoint {
	t.Helper()
	newProxy(t, u, delay)
	proxied := *point
	var err error
	if proxied.Identity, err = u.db.Identity(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &proxied
}

// TestPostgresLateTermination: a restore does not end its own sessions, which check the
// contents once the databases are exchanged, if the network is slow.
func TestPostgresLateTermination(t *testing.T) {
	t.Parallel()
	u := newFilled(t, postgresSuite())
	sent := make(chan struct{})
	var once sync.Once
	point := putProxy(t, u, u.create("a"), func(message []byte) {
		switch {
		case bytes.Contains(message, []byte("RENAME TO")):
			<-sent // so that sessions are being ended when the databases are exchanged
		case endsSessions(message):
			once.Do(func() { close(sent) })
			time.Sleep(100 * time.Millisecond) // the network: nothing waits for something else here
		}
	})
	u.restore(point)
}

// TestPostgresTerminationOfACutCall: a call waits while the server still ends sessions for
// a call that was cut off. Else it would end those of the call.
func TestPostgresTerminationOfACutCall(t *testing.T) {
	t.Parallel()
	u := newFilled(t, postgresSuite())
	u.url += "&application_name=of_a_cut_call"
	direct := u.open(u.url)
	point := u.create("a")
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	late := make(chan struct{}) // closed when the message that was cut off shall arrive
	proxied := putProxy(t, u, point, func(message []byte) {
		switch {
		case bytes.Contains(message, []byte("RENAME TO")):
			<-ctx.Done() // so that sessions are being ended when the call is cut off
		case endsSessions(message):
			cut()
			<-late
		}
	})
	if err := u.db.Restore(ctx, proxied); !errors.Is(err, context.Canceled) {
		t.Errorf("a restore that was cut off: %v", err)
	}
	digested := make(chan error, 1)
	go func() {
		_, err := direct.Digest(t.Context())
		digested <- err
	}()
	// One session still ends others, and the one with the lock of the database has gone.
	const waiting = "SELECT count(*) = 2 AND bool_or(wait_event = 'advisory') FROM pg_stat_activity WHERE application_name = 'of_a_cut_call'"
	waits := false
	for !waits && len(digested) == 0 {
		waits = u.run(t, "", waiting) == "t"
	}
	if !waits {
		t.Error("a call did not wait until no more sessions were ended for a call that was cut off")
	}
	close(late)
	if err := <-digested; err != nil {
		t.Error(err)
	}
	u.db = direct
	u.restore(point)
}
