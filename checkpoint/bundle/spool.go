package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool unpacks an archive for somebody who only looks at it: into a file that is
// gone when the process ends, whatever ends it. It lies in dir, and never has a
// name there; where the system can't make such a file it lies in the directory
// for temporary ones. Errors are those of Verify, and those of that file.
func Spool(ctx context.Context, dir string, r io.Reader, limits Limits) (*Staged, error) {
	f, err := unnamedFile(dir)
	remove := func() error { return nil }
	if err != nil {
		f, remove, err = soonUnnamed(os.TempDir())
	}
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for the archive: %w", err)
	}
	c, err := read(ctx, r, limits, func(int) (io.WriteCloser, error) { return uncompressed{f}, nil })
	if err != nil {
		return nil, errors.Join(err, f.Close(), remove())
	}
	begins := make([]int64, len(c.Members))
	for i := 1; i < len(begins); i++ {
		begins[i] = begins[i-1] + c.Members[i-1].Size
	}
	open := func(i int) (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, begins[i], c.Members[i].Size)), nil
	}
	return &Staged{Contents: *c, open: open, remove: func() error { return errors.Join(f.Close(), remove()) }}, nil
}

// soonUnnamed makes a file and takes its name away, at once where the system
// lets go of names in use, else with remove.
func soonUnnamed(dir string) (f *os.File, remove func() error, err error) {
	f, err = os.CreateTemp(dir, "runner-archive-")
	if err != nil {
		return nil, nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, func() error { return nil }, nil
	}
	return f, func() error { return os.Remove(f.Name()) }, nil
}
