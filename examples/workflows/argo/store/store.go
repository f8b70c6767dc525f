// Package store keeps points in a file. A point replaces an earlier one of the same name,
// host and time, so that it does no harm to write points twice.
package store

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.com/points/line"
)

// Store is safe for use by several goroutines.
type Store struct {
	mu     sync.Mutex
	file   string
	points map[key]line.Point
}

type key struct {
	name, host string
	time       int64
}

// Summary is what a host measured under a name.
type Summary struct {
	Host  string
	Count int
	Mean  float64
}

// Open reads the points of a file, which need not exist.
func Open(file string) (*Store, error) {
	s := &Store{file: file, points: map[key]line.Point{}}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		p, err := line.Parse(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		s.keep(p)
	}
	return s, lines.Err()
}

func (s *Store) keep(p line.Point) { s.points[key{p.Name, p.Host, p.Time}] = p }

// Create makes the file anew, without points.
func (s *Store) Create() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.points)
	if err := os.MkdirAll(filepath.Dir(s.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.file, nil, 0o644)
}

// Write adds points to the file, which must exist.
func (s *Store) Write(points ...line.Point) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, p := range points {
		fmt.Fprintln(&text, p)
	}
	_, err = f.WriteString(text.String())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", s.file, err)
	}
	for _, p := range points {
		s.keep(p)
	}
	return nil
}

// Summaries returns what each host measured under a name, ordered by host.
func (s *Store) Summaries(name string) []Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	byHost := map[string]Summary{}
	for _, p := range s.points {
		if p.Name == name {
			h := byHost[p.Host]
			byHost[p.Host] = Summary{Host: p.Host, Count: h.Count + 1, Mean: h.Mean + p.Value}
		}
	}
	var all []Summary
	for _, h := range byHost {
		h.Mean /= float64(h.Count)
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Summary) int { return strings.Compare(a.Host, b.Host) })
	return all
}
