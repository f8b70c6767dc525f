package survey

import (
	"context"
	"fmt"
	"io"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline/files"
	"prdrunner/runner/plan"
)

// maxSource bounds the size of the file that is read from a capture.
const maxSource = 16 << 20

// earlierSource returns the pipeline file of the last run. It returns nil if the file and
// those that it includes are unchanged, or if the captures don't have them; files are the
// changed ones, as the captures hold them. The source only serves to explain changes to the
// user, so a failure to read it is no error.
func (s *Surveyor) earlierSource(ctx context.Context, st *state.State, files files.Contents) []byte {
	if st == nil || s.endListing == nil || st.Pipeline.Digest == s.p.Digest {
		return nil
	}
	i := slices.IndexFunc(s.endListing.Entries, func(e workspace.Entry) bool { return e.Path == string(st.Pipeline.Path) })
	if i < 0 {
		return nil
	}
	source, err := s.readEntry(ctx, s.endListing.Entries[i])
	if err != nil || s.p.EarlierDigest(source, files) != st.Pipeline.Digest {
		return nil
	}
	return source
}

// earlierFiles returns the files that changed since the last run, as the captures hold
// them.
func (s *Surveyor) earlierFiles(ctx context.Context, f *plan.Facts) files.Contents {
	if len(f.ChangedFiles) == 0 {
		return nil
	}
	earlier := make(files.Contents, len(f.ChangedFiles))
	for _, c := range f.ChangedFiles {
		earlier[c.Path] = nil
		if c.From != nil {
			earlier[c.Path] = func() (io.ReadCloser, error) { return s.files.Contents().Open(ctx, *c.From) }
		}
	}
	return earlier
}

func (s *Surveyor) readEntry(ctx context.Context, e workspace.Entry) ([]byte, error) {
	r, err := s.files.Contents().Open(ctx, e)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxSource))
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read %s as it was: %w", e.Path, err)
	}
	return data, nil
}
