//go:build unix

package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const refusedWord = "hunter22-hunter22"

// finder is a detector of refusedWord.
type finder struct{ seen bytes.Buffer }

func (f *finder) Write(p []byte) (int, error) { return f.seen.Write(p) }
func (f *finder) Found() bool                 { return bytes.Contains(f.seen.Bytes(), []byte(refusedWord)) }

func refusing(w *Workspace) *Workspace {
	w.Refuse(func() Detector { return &finder{} })
	return w
}

// TestKeepRefuses keeps files of which some hold a value, also where a read
// ends within it and where the cache knows the file.
func TestKeepRefuses(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	refusing(w)
	across := strings.Repeat("x", bufferSize-5) + refusedWord + strings.Repeat("y", 3*bufferSize)
	put(t, dir, "a", "nothing")
	put(t, dir, "b", "before "+refusedWord+" after")
	put(t, dir, "c", across)
	must(t, os.Symlink(refusedWord, filepath.Join(dir, "link")))
	names := []string{"a", "b", "c", "link"}
	for range 2 {
		kept, left, err := w.Keep(t.Context(), names)
		must(t, err)
		if want := []string{"b", "c", "link"}; !slices.Equal(left, want) {
			t.Errorf("left out %q, want %q", left, want)
		}
		for i, e := range kept {
			there, err := w.o.Objects.Has(e.Digest)
			must(t, err)
			if there != (names[i] == "a") {
				t.Errorf("%s is kept: %v", names[i], there)
			}
		}
		if kept[1].Digest != shaOf("before "+refusedWord+" after") || kept[2].Digest != shaOf(across) {
			t.Errorf("described as %+v", kept)
		}
	}
}

// TestCaptureRefuses captures a file that holds a value. Neither a change in
// time nor a capture that knows nothing of the value takes it in, and going
// back leaves it alone.
func TestCaptureRefuses(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	refusing(w)
	put(t, dir, "in/a", "nothing")
	o := CaptureOptions{Patterns: []string{"in/**"}}
	put(t, dir, "in/b", "before "+refusedWord)
	first, err := w.Capture(t.Context(), o)
	must(t, err)
	o.Last = &first.Capture
	second, err := w.Capture(t.Context(), o)
	must(t, err)
	if want := []string{"in/b"}; !slices.Equal(first.LeftOut, want) || !slices.Equal(second.LeftOut, want) || second.Changed {
		t.Errorf("captured %+v, then %+v", first, second)
	}
	later := open(t, keeperOptions(dir))
	third, err := later.Capture(t.Context(), o)
	must(t, err)
	if !slices.Equal(third.LeftOut, []string{"in/b"}) {
		t.Errorf("captured %+v without looking", third)
	}
	there, err := w.o.Objects.Has(shaOf("before " + refusedWord))
	must(t, err)
	if there {
		t.Error("the value is in an object")
	}
	now, err := later.Now(t.Context(), o.Patterns)
	must(t, err)
	target, err := later.Load(t.Context(), first.Listing)
	must(t, err)
	if changes := Diff(now, target); len(changes) != 0 {
		t.Errorf("going back would make %+v", changes)
	}
}
