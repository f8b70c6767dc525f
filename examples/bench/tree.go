package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// tree is a workload of files, none of which compresses.
type tree struct {
	files, size int   // so many of so many bytes each
	big         int64 // and one of so many bytes, where it is not 0
}

// write lays the files out below a directory, always the same ones.
func (t tree) write(dir string) error {
	if err := t.fill(dir, t.files, 0); err != nil {
		return err
	}
	if t.big == 0 {
		return nil
	}
	return fill(filepath.Join(dir, "big"), rand.NewChaCha8([32]byte{1}), t.big)
}

// change gives some of the files other bytes, in each version others.
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
