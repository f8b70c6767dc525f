package engine

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/git"
)

// Commands starts the programs of a database's vendor, such as pg_dump. It has the shape of
// git.Commander, so that one supervision serves every program that Runner needs.
type Commands interface {
	// Run runs a command to its end, as git.Commander says.
	Run(ctx context.Context, c git.Command) error
}

// Kit is what an engine works with.
type Kit struct {
	Objects  *objects.Store // of dumps
	Commands Commands
}

// Store stores what write writes as one object.
func (k Kit) Store(ctx context.Context, write func(io.Writer) error) (objects.Ref, error) {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(w)
		_ = w.CloseWithError(err) // never fails
		written <- err
	}()
	batch := k.Objects.Begin()
	ref, err := batch.Copy(ctx, r)
	_ = r.CloseWithError(err) // never fails
	if failed := <-written; !errors.Is(err, failed) {
		err = errors.Join(failed, err)
	}
	if err != nil {
		return objects.Ref{}, errors.Join(err, batch.Abandon())
	}
	return ref, batch.Commit(ctx)
}

// Secret keeps a password out of messages.
type Secret struct{ text string }

// NewSecret returns a secret.
func NewSecret(text string) Secret { return Secret{text} }

// Hide returns an error whose message does not contain the password, not even as a part of
// a URL.
func (s Secret) Hide(err error) error {
	if err == nil || s.text == "" {
		return err
	}
	message := err.Error()
	for _, form := range []string{s.text, url.QueryEscape(s.text), url.PathEscape(s.text), url.UserPassword("", s.text).String()[1:]} {
		message = strings.ReplaceAll(message, form, "***")
	}
	if message == err.Error() {
		return err
	}
	return &hiddenError{message, err}
}

// hiddenError has a message without the password.
type hiddenError struct {
	message string
	err     error
}

func (e *hiddenError) Error() string { return e.message }
func (e *hiddenError) Unwrap() error { return e.err }
