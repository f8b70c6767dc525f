package exchange

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// OccupiedError reports that a PRD has a session or a document already.
type OccupiedError struct {
	PRD      string
	Document string       // the path of the document written by hand, if there is one
	Session  *state.State // nil: there is only a document
}

func (e *OccupiedError) Error() string {
	if e.Session == nil {
		return fmt.Sprintf("%s has a document from which the next build begins: %s", e.PRD, e.Document)
	}
	return fmt.Sprintf("%s has a session, which is %s", e.PRD, e.Session.Status)
}

// CheckFree returns an *OccupiedError if the PRD has a session or a document.
func CheckFree(s *checkpoint.Store, prd string) error {
	current, err := s.Reader().Current(prd)
	switch {
	case errors.Is(err, checkpoint.ErrNoSession):
		return nil
	case err != nil:
		return err
	}
	return &OccupiedError{PRD: prd, Document: s.Layout().DocumentPath(prd), Session: current.State}
}

// Place writes a document where the next build of its PRD begins from it, and returns the
// path. It refuses with an *OccupiedError if the PRD has a session or a document.
func Place(ctx context.Context, s *checkpoint.Store, d document.File) (path string, err error) {
	data, err := d.Encode()
	if err != nil {
		return "", err
	}
	u, err := s.LockUnopened(ctx, d.PRD)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	if err := u.FinishInterrupted(); err != nil {
		return "", err
	}
	if err := CheckFree(s, d.PRD); err != nil {
		return "", err
	}
	path = s.Layout().DocumentPath(d.PRD)
	return path, store.WriteFile(s.FS(), path, data)
}
