package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"prdrunner/checkpoint/objects"
)

// Missing is an entry whose bytes can't be had.
type Missing struct {
	Path   string
	Reason string
}

// Missing returns the entries whose bytes are not there, or have another
// length; deep: or are damaged, for which all of them are read.
func (w *Workspace) Missing(ctx context.Context, entries []Entry, deep bool) ([]Missing, error) {
	_, missing, err := w.locate(ctx, entries, deep)
	return missing, err
}

// Readable reads all bytes and returns the entries that can be read, as Open can
// read them: those whose blob is damaged, and whose object is not, without it.
// The rest is missing.
func (w *Workspace) Readable(ctx context.Context, entries []Entry) ([]Entry, []Missing, error) {
	located, missing, err := w.locate(ctx, entries, true)
	if err != nil {
		return nil, nil, err
	}
	lost := make(map[string]bool, len(missing))
	for _, m := range missing {
		lost[m.Path] = true
	}
	return slices.DeleteFunc(located, func(e Entry) bool { return lost[e.Path] }), missing, nil
}

// locate finds out which entries can be had, and from where.
func (w *Workspace) locate(ctx context.Context, entries []Entry, deep bool) (located []Entry, missing []Missing, err error) {
	located = slices.Clone(entries)
	reasons := make([]string, len(entries))
	inGit, err := w.inGit(ctx, entries)
	if err != nil {
		return nil, nil, fmt.Errorf("look for what was kept: %w", err)
	}
	all, err := w.newSources(ctx)
	if err != nil {
		return nil, nil, err
	}
	err = w.each(ctx, len(entries), 1+min(chunkSize, len(entries)/16), func(ctx context.Context, _ *cursor, i int) (err error) {
		e := &located[i]
		switch {
		case e.Mode&^0o777 == ModeDir:
		case deep:
			err = all.use(func(s *source) error { return s.locate(ctx, e) })
			reasons[i], err = unavailable(ctx, err)
		case e.Blob == "" || !inGit[e.Blob]:
			reasons[i], err = w.missingObject(*e)
		}
		return err
	})
	if closed := all.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for what was kept: %w", err)
	}
	for i, reason := range reasons {
		if reason != "" {
			missing = append(missing, Missing{Path: entries[i].Path, Reason: strings.TrimPrefix(reason, entries[i].Path+": ")})
		}
	}
	return located, missing, nil
}

// locate reads the bytes of an entry, which names only the object afterwards
// where its blob is damaged.
func (s *source) locate(ctx context.Context, e *Entry) error {
	began := 0
	err := s.writeAny(ctx, *e, func() (io.Writer, error) {
		began++
		return io.Discard, nil
	})
	if err == nil && began > 1 {
		e.Blob = ""
	}
	return err
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
	err = w.o.Objects.Check(objects.Ref{Digest: e.Digest, Size: e.Size})
	var damaged *objects.DamagedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return what + "there is no object " + e.Digest, nil
	case errors.As(err, &damaged):
		return what + err.Error(), nil
	}
	return "", err
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
