//go:build !linux && !darwin

package store

import "io/fs"

// openDir does not exist here: Dir uses paths.
type openDir struct{}

func newOpenDir(string) (*openDir, error) { return nil, nil }

func (*openDir) lstatIn(string) (fs.FileMode, int64, error) { return 0, 0, fs.ErrInvalid }

func (*openDir) readStart(string, []byte) error { return fs.ErrInvalid }

func (*openDir) closeDir() error { return nil }
