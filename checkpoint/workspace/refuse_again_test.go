//go:build unix

package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wordFinder is a detector of a word.
type wordFinder struct {
	word string
	seen bytes.Buffer
}

func (f *wordFinder) Write(p []byte) (int, error) { return f.seen.Write(p) }
func (f *wordFinder) Found() bool                 { return strings.Contains(f.seen.String(), f.word) }

func finding(word string) func() Detector { return func() Detector { return &wordFinder{word: word} } }

// TestLeftOutAgain: a file that was excluded for its content is captured again only if
// the detector knows all values and the content is known to have changed.
func TestLeftOutAgain(t *testing.T) {
	t.Parallel()
	nothing := func(*Workspace) {}
	another := func(w *Workspace) { w.Refuse(finding("another value")) }
	rotated := func(w *Workspace) { w.RefuseAll(finding("another value")) }
	all := func(w *Workspace) { w.RefuseAll(finding(refusedWord)) }
	edit := func(t *testing.T, dir string) { put(t, dir, "in/b", "it is gone") }
	touch := func(t *testing.T, dir string) {
		must(t, os.Chtimes(filepath.Join(dir, "in/b"), time.Now(), time.Unix(1e9, 0)))
	}
	lose := func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, ".state", "cache"))) }
	for name, c := range map[string]struct {
		knows func(*Workspace)
		meant func(t *testing.T, dir string)
		fresh bool // there is no last capture
		taken bool
	}{
		"nothing is known":                      {knows: nothing},
		"nothing is known, another content":     {knows: nothing, meant: edit},
		"another value":                         {knows: another},
		"another value, touched":                {knows: another, meant: touch},
		"another value, another content":        {knows: another, meant: edit},
		"another value, the cache is lost":      {knows: another, meant: lose},
		"all values, which are others":          {knows: rotated},
		"all values, touched":                   {knows: rotated, meant: touch},
		"all values, the cache is lost":         {knows: rotated, meant: lose},
		"all values, another content":           {knows: rotated, meant: edit, taken: true},
		"the same values, another content":      {knows: all, meant: edit, taken: true},
		"a new session":                         {knows: rotated, fresh: true},
		"a new session, another content":        {knows: another, fresh: true, meant: edit, taken: true},
		"a new session, nothing known, touched": {knows: all, fresh: true, meant: touch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := keeper(t)
			all(w)
			put(t, dir, "in/a", "nothing")
			put(t, dir, "in/b", "before "+refusedWord)
			o := CaptureOptions{Patterns: []string{"in/**"}}
			first, err := w.Capture(t.Context(), o)
			must(t, err)
			must(t, w.SaveCache())
			if c.meant != nil {
				c.meant(t, dir)
			}
			if !c.fresh {
				o.Last = &first.Capture
			}
			later := open(t, keeperOptions(dir))
			c.knows(later)
			_, err = later.Now(t.Context(), o.Patterns) // computes all digests
			must(t, err)
			for range 2 {
				next, err := later.Capture(t.Context(), o)
				must(t, err)
				l, err := later.Load(t.Context(), next.Listing)
				must(t, err)
				if left := slices.Equal(next.LeftOut, []string{"in/b"}); left == c.taken || len(l.Entries) != 1+1-len(next.LeftOut) {
					t.Errorf("left out %q, captured %q", next.LeftOut, paths(l.Entries))
				}
				o.Last = &next.Capture
			}
			if there, err := later.o.Objects.Has(shaOf("before " + refusedWord)); err != nil || there {
				t.Errorf("the value is in an object: %v, %v", there, err)
			}
		})
	}
}

// TestTakenInAgain: the earlier content of an excluded file is not known. The file is
// captured once its content is known to have changed.
func TestTakenInAgain(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	w.RefuseAll(finding(refusedWord))
	put(t, dir, "b", refusedWord)
	o := CaptureOptions{Patterns: []string{"**"}}
	for i, step := range []struct {
		content string
		lost    bool // the cache
		left    bool
	}{
		{refusedWord, false, true},
		{"clean, but who knows", true, true},
		{"clean, but who knows", false, true},
		{"clean", false, false},
		{refusedWord, false, true},
		{refusedWord + " still", false, true},
		{"clean", false, false},
	} {
		put(t, dir, "b", step.content)
		must(t, w.SaveCache())
		if step.lost {
			must(t, os.Remove(filepath.Join(dir, ".state", "cache")))
		}
		w = open(t, keeperOptions(dir))
		w.RefuseAll(finding(refusedWord))
		c, err := w.Capture(t.Context(), o)
		must(t, err)
		if left := len(c.LeftOut) == 1; left != step.left {
			t.Errorf("step %d: left out %q", i, c.LeftOut)
		}
		o.Last = &c.Capture
	}
}

// TestLeftOutForItsName: a file that was excluded for its name alone is captured when its name
// is no longer sensitive. What is in it counts as for any other file.
func TestLeftOutForItsName(t *testing.T) {
	t.Parallel()
	named := func(w *Workspace) { w.LeaveOut([]string{"notes.txt"}) }
	for name, c := range map[string]struct {
		content string
		knew    func(*Workspace) // instead of the sensitive name
		lost    bool             // the cache
		knows   func(*Workspace)
		left    bool
	}{
		"nothing is known":       {content: "plain"},
		"some values are known":  {content: "plain", knows: func(w *Workspace) { w.Refuse(finding(refusedWord)) }},
		"all values are known":   {content: "plain", knows: func(w *Workspace) { w.RefuseAll(finding(refusedWord)) }},
		"it holds a value":       {content: refusedWord, knows: func(w *Workspace) { w.RefuseAll(finding(refusedWord)) }, left: true},
		"LeaveOut names it now":  {content: "plain", knows: named, left: true},
		"only LeaveOut named it": {content: "plain", knew: named, left: true},
		"the cache is lost":      {content: "plain", lost: true, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			options := keeperOptions(dir)
			if c.knew == nil {
				options.Sensitive = []string{"notes.txt"}
			}
			w := open(t, options)
			put(t, dir, "notes.txt", c.content)
			if c.knew != nil {
				c.knew(w)
			}
			o := CaptureOptions{Patterns: []string{"**"}}
			for range 2 {
				captured, err := w.Capture(t.Context(), o)
				must(t, err)
				if !slices.Equal(captured.LeftOut, []string{"notes.txt"}) {
					t.Fatalf("left out %q", captured.LeftOut)
				}
				o.Last = &captured.Capture
			}
			must(t, w.SaveCache())
			if c.lost {
				must(t, os.Remove(options.Cache))
			}
			options.Sensitive = nil
			later := open(t, options)
			if c.knows != nil {
				c.knows(later)
			}
			for range 2 {
				captured, err := later.Capture(t.Context(), o)
				must(t, err)
				if left := len(captured.LeftOut) > 0; left != c.left {
					t.Errorf("left out %q", captured.LeftOut)
				}
				o.Last = &captured.Capture
			}
		})
	}
}

// TestLeftOutAgainElsewhere: the same bytes are refused under another name, as an
// artifact, and in the next process.
func TestLeftOutAgainElsewhere(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	w.RefuseAll(finding(refusedWord))
	put(t, dir, "b", refusedWord)
	_, left, err := w.Keep(t.Context(), []string{"b"})
	must(t, err)
	if len(left) != 1 {
		t.Fatalf("left out %q", left)
	}
	must(t, w.SaveCache())
	later := open(t, keeperOptions(dir))
	later.RefuseAll(finding("another value"))
	put(t, dir, "c", refusedWord)
	captured, err := later.Capture(t.Context(), CaptureOptions{Patterns: []string{"**"}})
	must(t, err)
	if want := []string{"b", "c"}; !slices.Equal(captured.LeftOut, want) {
		t.Errorf("a capture left out %q, want %q", captured.LeftOut, want)
	}
	if _, left, err = later.Keep(t.Context(), []string{"b"}); err != nil || !slices.Equal(left, []string{"b"}) {
		t.Errorf("Keep left out %q, %v", left, err)
	}
	must(t, os.Remove(filepath.Join(dir, "b")))
	must(t, later.SaveCache())
	if onRecord := open(t, keeperOptions(dir)).cache.ExcludedFiles(); len(onRecord) != 1 || onRecord["c"] == "" {
		t.Errorf("the cache has the excluded files %q, want only c", onRecord)
	}
}

// TestLeftOutAgainGit: an excluded file gets into no commit, either, and a plan names it.
func TestLeftOutAgainGit(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitRef, GitCommit} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w, dir := gitKeeper(t, "", mode)
			runGit(t, dir, "config", "user.name", "u")
			runGit(t, dir, "config", "user.email", "u@localhost")
			w.RefuseAll(finding(refusedWord))
			put(t, dir, "plain", "nothing")
			put(t, dir, "notes", "it is "+refusedWord)
			first, l := captureSparse(t, w, nil, 1)
			put(t, dir, "notes", "it is still "+refusedWord)
			put(t, dir, "plain", "another")
			later := open(t, w.o)
			later.Refuse(finding("another value"))
			next, _ := captureSparse(t, later, &first.Capture, 2)
			if !next.Changed || !slices.Equal(next.LeftOut, []string{"notes"}) {
				t.Errorf("changed %v, left out %q", next.Changed, next.LeftOut)
			}
			if has := runGit(t, dir, "cat-file", "--batch-all-objects", "--batch"); strings.Contains(has, refusedWord) {
				t.Error("git has the value")
			}
			unknowing := open(t, w.o)
			now, err := unknowing.Now(t.Context(), nil)
			must(t, err)
			if refused, err := unknowing.Refused(t.Context(), now.Entries, l, nil); err != nil || !slices.Equal(refused, []string{"notes"}) {
				t.Errorf("a capture would leave out %q, %v", refused, err)
			}
			if refused, err := unknowing.Refused(t.Context(), now.Entries, nil, []string{"notes"}); err != nil || !slices.Equal(refused, []string{"notes"}) {
				t.Errorf("a capture would leave out %q of the files excluded since, %v", refused, err)
			}
		})
	}
}

// TestLeftOutAndGone: a file that is removed during a capture is not named as excluded.
func TestLeftOutAndGone(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "b", "something")
	s, err := newSurvey(t.Context(), w, []string{"**"})
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "b")))
	w.RefuseAll(finding(refusedWord))
	must(t, (&capture{w: w, survey: s}).excludeRefused(t.Context(), []string{"b"}))
	if len(s.excluded)+len(s.files) > 0 {
		t.Errorf("left out %q, captured %+v", s.excluded, s.files)
	}
}
