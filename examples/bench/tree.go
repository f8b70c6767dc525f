package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// tree is a workload of files whose content does not compress.
type tree struct {
	files, size int   // the number of files, and the size of each in bytes
	big         int64 // the size of one more file in bytes; 0: there is none
}

// write writes the files below a directory. Their content is the same in every run of the
// program.
func (t tree) write(dir string) error {
	if err := t.fill(dir, t.files, 0); err != nil {
		return err
	}
	if t.big == 0 {
		return nil
	}
	return fill(filepath.Join(dir, "big"), rand.NewChaCha8([32]byte{1}), t.big)
}

// change gives some of the files new content, which differs from version to version.
func (t tree) change(dir string, some, version int) error {
	return t.fill(dir, min(some, t.files), version)
}

func (t tree) fill(dir string, some, version int) error {
	for i := range some {
		sub := filepath.Join(dir, fmt.Sprintf("d%d", i%10), fmt.Sprintf("e%d", i%100))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return err
		}
		seed := [32]byte{2, byte(i), byte(i >> 8), byte(i >> 16), byte(version), byte(version >> 8)}
		if err := fill(filepath.Join(sub, fmt.Sprint(i)), rand.NewChaCha8(seed), int64(t.size)); err != nil {
			return err
		}
	}
	return nil
}

func fill(name string, from io.Reader, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(f, from, size); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
