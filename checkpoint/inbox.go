package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Verb names what a request asks for.
type Verb string

// The verbs.
const (
	VerbApprove Verb = "approve"
	VerbReject  Verb = "reject"
	VerbPause   Verb = "pause"
	VerbResolve Verb = "resolve"
	VerbCreate  Verb = "checkpoint create"
)

// Request is what a process that does not own the PRD asks the owner to do.
type Request struct {
	ID         string           `json:"id"` // set by Ask
	PRD        string           `json:"prd"`
	Verb       Verb             `json:"verb"`
	Gate       string           `json:"gate,omitempty"`
	Definition string           `json:"definition,omitempty"` // of the gate when it was shown to the user; "": not known
	Judged     string           `json:"judged,omitempty"`     // what the gate asked about at that time
	Workstream string           `json:"workstream,omitempty"`
	Resolution state.Resolution `json:"resolution,omitempty"`
	Comment    state.Text       `json:"comment,omitempty"`
	// Inputs are the values given with an answer, and To the workstreams that a rejection
	// asks to run again; none: all that the gate judged.
	Inputs map[string]state.Text `json:"inputs,omitempty"`
	To     []string              `json:"to,omitempty"`
	By     state.Actor           `json:"by"`
	At     time.Time             `json:"at"`
}

// The extensions of the files in the inbox. The asking process writes a request. The
// owner renames it to a claim, so that the request cannot be withdrawn any more, and
// replaces the claim with a reply.
const (
	requestExt = ".request.json"
	claimExt   = ".claim.json"
	replyExt   = ".reply.json"
)

// mail is a request, a claim or a reply on disk. Asker shows whether the asking process
// still waits.
type mail struct {
	FormatVersion string      `json:"format_version"`
	Request       Request     `json:"request"`
	Asker         disk.Holder `json:"asker"`
	Error         state.Text  `json:"error,omitempty"` // why the owner refused; "" in a reply: the request was carried out
}

// askInterval is how often Ask checks for a reply.
const askInterval = 10 * time.Millisecond

// stoppedLooks is how many checks in a row must find the owner's process stopped before
// Ask withdraws the request, since a stopped process may be continued at once.
const stoppedLooks = 100

// Ask has a request carried out, and returns when the result is durable. If another
// process owns the PRD, the owner gets the request, and Ask returns its refusal as a
// *RefusedError. Otherwise Ask takes the lock and calls alone; the events that alone adds
// are durable when Ask returns. If ctx ends, Ask withdraws the request.
func (s *Store) Ask(ctx context.Context, r Request, alone func(*Session) error) error {
	if err := s.reader.CheckID(r.PRD); err != nil {
		return err
	}
	known, err := store.Exists(s.layout.FS, s.layout.JournalPath(r.PRD))
	if err == nil && !known {
		known, err = store.Exists(s.layout.FS, s.layout.DocumentPath(r.PRD))
	}
	if err == nil && !known {
		err = ErrNoSession
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.Verb, r.PRD, err)
	}
	a := &asking{store: s, alone: alone, mail: mail{FormatVersion: state.FormatVersion, Request: r}}
	a.mail.Asker = disk.NewHolder(r.By, s.Now())
	a.mail.Request.ID = uuid.NewString()
	if a.mail.Request.At.IsZero() {
		a.mail.Request.At = s.Now()
	}
	return a.run(ctx)
}

// asking is one call of Ask.
type asking struct {
	store *Store
	mail  mail
	alone func(*Session) error
	sent  bool
}

func (a *asking) mailPath(ext string) string {
	return filepath.Join(a.store.layout.InboxPath(a.mail.Request.PRD), a.mail.Request.ID+ext)
}

func (a *asking) run(ctx context.Context) error {
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	stopped := 0
	for {
		// Only the lock shows whether there is an owner. If the owner died meanwhile, this
		// process becomes the owner.
		x, err := a.store.Lock(ctx, a.mail.Request.PRD, a.mail.Request.By)
		var locked *LockedError
		switch {
		case err == nil:
			return a.carryOut(x)
		case ctx.Err() != nil:
			return a.withdraw(ctx.Err())
		case !errors.As(err, &locked):
			return errors.Join(err, a.forget())
		}
		if !a.sent {
			if err := a.sendRequest(); err != nil {
				return err
			}
		}
		if answered, err := a.readReply(); answered || err != nil {
			return err
		}
		if stopped++; !locked.Holder.IsStopped() {
			stopped = 0
		}
		if stopped == stoppedLooks {
			locked.Stopped = true
			return a.withdraw(locked)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return a.withdraw(ctx.Err())
		}
	}
}

// carryOut carries out the request as the owner, unless the last owner answered it before
// it ended.
func (a *asking) carryOut(x *Session) error {
	if answered, err := a.readReply(); answered || err != nil {
		return errors.Join(err, x.Close())
	}
	if err := a.forget(); err != nil {
		return errors.Join(err, x.Close())
	}
	return errors.Join(a.alone(x), x.Close())
}

func (a *asking) sendRequest() error {
	data, err := state.EncodeJSON(a.mail)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	if err := store.WriteFile(a.store.fs, a.mailPath(requestExt), data); err != nil {
		return fmt.Errorf("hand over the request: %w", err)
	}
	a.sent = true
	return nil
}

// readReply reads and removes the owner's reply, and reports whether there was one.
func (a *asking) readReply() (bool, error) {
	if !a.sent {
		return false, nil
	}
	data, err := store.ReadFile(a.store.fs, a.mailPath(replyExt))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var m mail
	if err := json.Unmarshal(data, &m); err != nil {
		return false, fmt.Errorf("read the reply: %w", err)
	}
	if err := a.remove(replyExt); err != nil {
		return true, err
	}
	if m.Error != "" {
		return true, &RefusedError{Message: string(m.Error)}
	}
	return true, nil
}

// withdraw takes the request back, and returns why, with the outcome. If the owner has
// claimed the request, it may still carry it out, and the error says so.
func (a *asking) withdraw(why error) error {
	if !a.sent {
		return fmt.Errorf("%s %s: %w", a.mail.Request.Verb, a.mail.Request.PRD, why)
	}
	err := a.store.fs.Remove(a.mailPath(requestExt))
	if err == nil {
		return fmt.Errorf("%s %s: withdrawn: %w", a.mail.Request.Verb, a.mail.Request.PRD, why)
	}
	if answered, err := a.readReply(); answered {
		return err
	}
	return fmt.Errorf("%s %s: the owner has the request and may still carry it out: %w", a.mail.Request.Verb, a.mail.Request.PRD, why)
}

// forget removes a request or claim that an owner did not answer before it ended.
func (a *asking) forget() error {
	if !a.sent {
		return nil
	}
	a.sent = false
	return errors.Join(a.remove(requestExt), a.remove(claimExt))
}

func (a *asking) remove(ext string) error {
	if err := a.store.fs.Remove(a.mailPath(ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear the inbox: %w", err)
	}
	return nil
}

// Requests claims and returns the requests that arrived since the last call. The caller
// must pass each to Answer. If none arrived, it costs reading one directory.
func (x *Session) Requests() ([]Request, error) {
	if err := x.checkOwnership(); err != nil { // the inbox may belong to another owner now
		return nil, err
	}
	dir := x.store.layout.InboxPath(x.prd)
	entries, err := x.store.fs.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look into the inbox: %w", err)
	}
	var requests []Request
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), requestExt)
		if !ok {
			continue
		}
		claim := filepath.Join(dir, id+claimExt)
		err := x.store.fs.Rename(filepath.Join(dir, e.Name()), claim)
		if errors.Is(err, fs.ErrNotExist) {
			continue // withdrawn
		}
		if err != nil {
			return requests, fmt.Errorf("claim a request: %w", err)
		}
		m, err := readMail(x.store.fs, claim)
		if err != nil || m.Request.ID != id || m.Request.PRD != x.prd || m.Asker.HasEnded() {
			// No process waits for an answer to this request.
			if err := x.store.fs.Remove(claim); err != nil {
				return requests, fmt.Errorf("drop a request: %w", err)
			}
			continue
		}
		if !state.Readable(m.FormatVersion) { // in that version the request may mean something else
			refusal := &state.VersionError{Path: claim, Version: "format version " + m.FormatVersion}
			if err := x.Answer(m.Request, refusal); err != nil {
				return requests, err
			}
			continue
		}
		requests = append(requests, m.Request)
	}
	return requests, nil
}

func readMail(fsys store.FS, path string) (*mail, error) {
	data, err := store.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	var m mail
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &m, nil
}

// Answer replies to a request. refusal says why the request is refused; nil means that it
// was carried out, and that this is durable.
func (x *Session) Answer(r Request, refusal error) error {
	dir := x.store.layout.InboxPath(x.prd)
	claim := filepath.Join(dir, r.ID+claimExt)
	m, err := readMail(x.store.fs, claim)
	if err != nil {
		return fmt.Errorf("answer a request: %w", err)
	}
	if refusal != nil {
		m.Error = state.Text(refusal.Error())
	}
	data, err := state.EncodeJSON(m)
	if err != nil {
		return fmt.Errorf("encode the reply: %w", err)
	}
	if err := store.WriteFile(x.store.fs, filepath.Join(dir, r.ID+replyExt), data); err != nil {
		return fmt.Errorf("answer a request: %w", err)
	}
	if err := x.store.fs.Remove(claim); err != nil {
		return fmt.Errorf("answer a request: %w", err)
	}
	return nil
}

// cleanInbox removes requests, claims and replies whose askers have ended, so that a
// request is never carried out long afterwards. The caller holds the lock. Processes that
// still wait notice that the owner has changed.
func cleanInbox(l *disk.Layout, prd string) error {
	dir := l.InboxPath(prd)
	entries, err := l.FS.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clean the inbox: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() || store.IsTemp(e.Name()) {
			continue // another process may be writing it
		}
		if m, err := readMail(l.FS, path); err == nil && !m.Asker.HasEnded() {
			continue
		}
		if err := l.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clean the inbox: %w", err)
		}
	}
	return nil
}
