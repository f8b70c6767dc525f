package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool unpacks an archive that is only inspected into a temporary file. The system removes
// the file when the process ends in any way. The file is on the file system of dir and has
// no name. On a system without such files it is in the directory for temporary files. The
// errors are those of Verify, and those of the file.
func Spool(ctx context.Context, dir string, r io.Reader, limits Limits) (*Staged, error) {
	f, err := unnamedFile(dir)
	remove := func() error { return nil }
	if err != nil {
		f, remove, err = namelessFile(os.TempDir())
	}
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for the archive: %w", err)
	}
	c, err := readArchive(ctx, r, limits, func(int) (io.WriteCloser, error) { return uncompressed{f}, nil })
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

// namelessFile creates a file and removes its name: at once if the system allows that for
// open files, else when remove is called.
func namelessFile(dir string) (f *os.File, remove func() error, err error) {
	f, err = os.CreateTemp(dir, "runner-archive-")
	if err != nil {
		return nil, nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, func() error { return nil }, nil
	}
	return f, func() error { return os.Remove(f.Name()) }, nil
}
