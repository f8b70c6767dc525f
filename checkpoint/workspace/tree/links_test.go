//go:build unix

package tree

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMatchLinks: a link stands for its target. A file behind it is matched once, under
// its real path. A link out of the workspace is reported and not followed.
func TestMatchLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	writeFile(t, outside, "secret", "x")
	for _, test := range []struct {
		name     string
		files    string // in the workspace
		links    map[string]string
		patterns string
		want     string
		out      []string
		none     bool // only links match
	}{
		{name: "to a file", files: "build/1 build/2", links: map[string]string{"app": "build/1"}, patterns: "app", want: "app build/1"},
		{name: "to nothing", files: "build/1", links: map[string]string{"app": "build/2"}, patterns: "app", want: "app", none: true},
		{name: "to itself", links: map[string]string{"app": "app"}, patterns: "app", want: "app", none: true},
		{name: "through another link", files: "b/1/x", links: map[string]string{"app": "cur/x", "cur": "b/1"}, patterns: "app", want: "app b/1/x cur"},
		{name: "above the pattern", files: "b/1/x b/1/y", links: map[string]string{"out": "b/1"}, patterns: "out/x", want: "b/1/x out"},
		{name: "above the pattern, to nothing", links: map[string]string{"out": "b/1"}, patterns: "out/x", want: "out", none: true},
		{name: "above a glob", files: "b/1/x b/1/y/z", links: map[string]string{"out": "b/1"}, patterns: "out/**", want: "b/1/x b/1/y/z out"},
		{name: "in a glob", files: "app/a common/x.go common/y", links: map[string]string{"app/common": "../common"}, patterns: "app/**/*.go", want: "app/common common/x.go"},
		{name: "in a glob, deeper", files: "app/a/b common/c/x", links: map[string]string{"app/a/s": "../../common/c"}, patterns: "app/*/s/*", want: "app/a/s common/c/x"},
		{name: "outside the fixed part of a glob", files: "src/a other/b", links: map[string]string{"lnk": "other"}, patterns: "src/**", want: "src/a"},
		{name: "to a directory in which the pattern matches nothing", files: "other/b", links: map[string]string{"src/l": "../other"}, patterns: "src/*", want: "src/l", none: true},
		{name: "in a glob that excludes files behind it", files: "app/a common/x common/tmp/y", links: map[string]string{"app/common": "../common"}, patterns: "app/**\x00app/common/tmp/**", want: "app/a app/common common/x"},
		{name: "in a glob that excludes it", files: "app/a common/x", links: map[string]string{"app/common": "../common"}, patterns: "app/**\x00app/common\x00app/common/**", want: "app/a"},
		{name: "in circles, with exclusions", files: "app/a app/tmp/b", links: map[string]string{"app/me": ".", "app/up": "../app"}, patterns: "app/**\x00**/tmp/**", want: "app/a app/me app/up"},
		{name: "in circles", files: "app/a", links: map[string]string{"app/me": ".", "app/up": "../app"}, patterns: "app/**", want: "app/a app/me app/up"},
		{name: "to each other", files: "a/x b/y", links: map[string]string{"a/b": "../b", "b/a": "../a"}, patterns: "a/**", want: "a/b a/x b/a b/y"},
		{name: "to the workspace", files: "app/a z", links: map[string]string{"app/all": ".."}, patterns: "app/**", want: "app/a app/all z"},
		{name: "to files that match anyway", files: "app/a/x", links: map[string]string{"app/b": "a"}, patterns: "app/**", want: "app/a/x app/b"},
		{name: "by its whole path", files: "build/1", links: map[string]string{"app": "DIR/build/1"}, patterns: "app", want: "app build/1"},
		{name: "to an odd name", files: "a*/[b] ab/b", links: map[string]string{"l": "a*"}, patterns: "l/**", want: "a*/[b] l"},
		{name: "out, to a file", links: map[string]string{"app": "OUT/secret"}, patterns: "app", want: "app", out: []string{"app"}},
		{name: "out, to a directory", files: "app/a", links: map[string]string{"app/s": "OUT"}, patterns: "app/**", want: "app/a app/s", out: []string{"app/s"}},
		{name: "out, through another link", files: "app/a", links: map[string]string{"app/s": "../t", "t": "OUT"}, patterns: "app/**/x", want: "", out: []string{"t"}},
		{name: "out, above the pattern", links: map[string]string{"s": "../elsewhere"}, patterns: "s/x s/**", want: "", out: []string{"s"}},
		{name: "to the skipped state directory", files: "app/a state/x", links: map[string]string{"app/s": "../state"}, patterns: "app/**", want: "app/a app/s", out: []string{"app/s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, path := range strings.Fields(test.files) {
				writeFile(t, dir, path, path)
			}
			for path, text := range test.links {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
				must(t, os.Symlink(strings.NewReplacer("DIR", dir, "OUT", outside).Replace(text), filepath.Join(dir, path)))
			}
			w := openTree(t, dir, filepath.Join(dir, "state"))
			patterns := strings.Fields(test.patterns)
			m, err := w.Match(t.Context(), patterns, nil)
			must(t, err)
			if got := strings.Join(m.Files, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if out := slices.Sorted(maps.Keys(m.Outside)); !slices.Equal(out, test.out) || m.HasContent() == (test.none || test.want == "") {
				t.Errorf("out of the workspace: %v; anything but links: %v", out, m.HasContent())
			}
			if has, err := w.HasMatch(t.Context(), patterns); err != nil || has != m.HasContent() {
				t.Errorf("HasMatch returned %v, %v, and Match found the files %q", has, err, m.Files)
			}
			// The extended patterns match the same files without following links.
			plain := walk{tree: w, stateDirs: w.StateDirs()}
			parsed, err := parsePatterns(m.Patterns)
			must(t, err)
			must(t, plain.findMatches(t.Context(), parsed))
			slices.Sort(plain.files)
			got := slices.Compact(plain.files)
			if len(test.out) == 0 && strings.Join(got, " ") != test.want {
				t.Errorf("%q match %q", m.Patterns, got)
			}
			if extended := w.Extend(patterns, m.Links); !slices.Equal(extended, m.Patterns) {
				t.Errorf("%q from the links alone, and %q from the files", extended, m.Patterns)
			}
		})
	}
}

// TestHasMatchStops: HasMatch lists no directory after it has found a file, in whatever
// pattern. A link is not enough.
func TestHasMatchStops(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, files, patterns string
		listed                string // the directories that are listed; ".": the tree's own
	}{
		{"a glob", "a/1 b/2 c/3", "**", ". a"},
		{"a file beside directories", "0 a/1", "**", "."},
		{"two globs", "a/1 b/2", "a/* b/*", "a"},
		{"a path and a glob", "a/1 b/2", "a/1 b/*", ""},
		{"a link first", "b/2 c/3", "link b/* c/*", "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, path := range strings.Fields(test.files) {
				writeFile(t, dir, path, path)
			}
			must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
			w := openTree(t, dir).WithListingCache()
			has, err := w.HasMatch(t.Context(), strings.Fields(test.patterns))
			must(t, err)
			var dirs []string
			for _, dir := range slices.Sorted(maps.Keys(w.listed.children)) {
				dirs = append(dirs, cmp.Or(dir, "."))
			}
			if listed := strings.Join(dirs, " "); !has || listed != test.listed {
				t.Errorf("found: %v, listed %q, want %q", has, listed, test.listed)
			}
		})
	}
}

// TestMatchRestored: a link that is about to be restored counts as present.
func TestMatchRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "b/1/x", "x")
	writeFile(t, dir, "b/2/y", "y")
	must(t, os.Symlink("b/2", filepath.Join(dir, "out")))
	w := openTree(t, dir)
	m, err := w.Match(t.Context(), []string{"out/**", "gone/*"}, Links{"out": "b/1", "gone": "b/1"})
	must(t, err)
	if want := []string{"b/1/x", "gone", "out"}; !slices.Equal(m.Files, want) {
		t.Errorf("%q", m.Files)
	}
}

// TestRealPath resolves the links above a file, but not the file, and leaves paths alone
// that lead out of the workspace.
func TestRealPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "real/file", "x")
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	must(t, os.Symlink("./real", filepath.Join(dir, "dot")))
	must(t, os.Symlink("real//", filepath.Join(dir, "slash")))
	must(t, os.Symlink("file", filepath.Join(dir, "real", "alias")))
	must(t, os.Symlink(t.TempDir(), filepath.Join(dir, "out")))
	w := openTree(t, dir)
	for path, want := range map[string][2]string{ // RealPath, Target
		"real/file":  {"real/file", "real/file"},
		"link/file":  {"real/file", "real/file"},
		"link/alias": {"real/alias", "real/file"},
		"link":       {"link", "real"},
		"out/file":   {"out/file", "out/file"},
		"none/file":  {"none/file", "none/file"},
		"dot/file":   {"real/file", "real/file"},
		"slash/file": {"real/file", "real/file"},
	} {
		if above, target := w.RealPath(path), w.Target(path); above != want[0] || target != want[1] {
			t.Errorf("%s: %s and %s, want %s and %s", path, above, target, want[0], want[1])
		}
	}
}
