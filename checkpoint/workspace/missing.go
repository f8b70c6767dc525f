package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"prdrunner/checkpoint/objects"
)

// Missing is an entry whose bytes can't be had.
type Missing struct {
	Path   string
	Reason string
}

// Missing returns the entries whose bytes are not there; deep: or are
// damaged, for which all of them are read.
func (w *Workspace) Missing(ctx context.Context, entries []Entry, deep bool) ([]Missing, error) {
	reasons := make([]string, len(entries))
	inGit, err := w.inGit(ctx, entries)
	if err != nil {
		return nil, fmt.Errorf("look for what was kept: %w", err)
	}
	all, err := w.newSources(ctx)
	if err != nil {
		return nil, err
	}
	err = w.each(ctx, len(entries), 1+min(chunkSize, len(entries)/16), func(ctx context.Context, _ *cursor, i int) (err error) {
		e := entries[i]
		switch {
		case e.Mode&^0o777 == ModeDir:
		case deep:
			err = all.use(func(s *source) error { return s.write(ctx, e, io.Discard) })
			reasons[i], err = unavailable(ctx, err)
		case e.Blob == "" || !inGit[e.Blob]:
			reasons[i], err = w.missingObject(e)
		}
		return err
	})
	if closed := all.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("look for what was kept: %w", err)
	}
	var missing []Missing
	for i, reason := range reasons {
		if reason != "" {
			missing = append(missing, Missing{Path: entries[i].Path, Reason: strings.TrimPrefix(reason, entries[i].Path+": ")})
		}
	}
	return missing, nil
}

// inGit returns which of the entries' blobs git has.
func (w *Workspace) inGit(ctx context.Context, entries []Entry) (map[string]bool, error) {
	if w.o.Git == nil {
		return nil, nil
	}
	var blobs []string
	for _, e := range entries {
		if e.Blob != "" {
			blobs = append(blobs, e.Blob)
		}
	}
	if len(blobs) == 0 {
		return nil, nil
	}
	return w.o.Git.Has(ctx, blobs)
}

// missingObject says why there is no object of an entry, "" if there is.
func (w *Workspace) missingObject(e Entry) (reason string, err error) {
	what := ""
	if e.Blob != "" {
		what = "git has no blob " + e.Blob + ", and "
	}
	if w.o.Objects == nil {
		return what + errNoObjects.Error(), nil
	}
	there, err := w.o.Objects.Has(e.Digest)
	if err != nil || there {
		return "", err
	}
	return what + "there is no object " + e.Digest, nil
}

// unavailable tells an error that says that bytes can't be had from others.
func unavailable(ctx context.Context, err error) (reason string, other error) {
	var object *objects.DamagedError
	var blob *DamagedError
	switch {
	case err == nil || ctx.Err() != nil:
		return "", err
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &object), errors.As(err, &blob), errors.Is(err, objects.ErrDigest):
		return err.Error(), nil
	}
	return "", err
}
