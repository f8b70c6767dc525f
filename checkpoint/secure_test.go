package checkpoint

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// damages are the ways in which what keeps a file is lost; nil removes it.
func damages(file []byte) map[string][]byte {
	flipped := bytes.Clone(file)
	flipped[len(file)/2] ^= 0xff
	return map[string][]byte{"flipped": flipped, "emptied": {}, "cut": file[:len(file)/2], "deleted": nil}
}

// atRest saves a file, and returns once it has been at rest for so long that a
// capture which reads it lets the next one rely on its times, and not read it:
// what is damaged then is not found by chance.
func (p *project) atRest(path, content string) {
	p.t.Helper()
	const margin = 50 * time.Millisecond // more than a capture asks for
	p.save(path, content)
	saved, err := os.Stat(filepath.Join(p.dir, filepath.FromSlash(path)))
	must(p.t, err)
	for probe := filepath.Join(p.t.TempDir(), "probe"); ; runtime.Gosched() {
		must(p.t, os.WriteFile(probe, nil, 0o600))
		now, err := os.Stat(probe)
		must(p.t, err)
		if now.ModTime().Sub(saved.ModTime()) > margin {
			return
		}
	}
}

// TestImportSecuresWhatItOverwrites: so does an import that overwrites.
func TestImportSecuresWhatItOverwrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	s := p.open()
	w, x := p.workspace(s), lockPRD(t, s, "PRD-009")
	p.atRest("gen/a.txt", "important")
	p.capture(x, w, state.TriggerManual)
	path := p.objectOf(x, w, "gen/a.txt")
	must(t, x.Close())
	p.damage(path, "flipped")

	x = lockPRD(t, s, "PRD-009")
	state, err := s.StateAfter(s.layout.PRDDir("PRD-009"), "PRD-009", p.stands().Checkpoints[1].Seq)
	must(t, err)
	files, err := planImported(ctx, w, state, nil, objectSource(s))
	must(t, err)
	done := &RestoredFiles{}
	must(t, x.restoreImported(ctx, w, files, true, done))
	p.holds("gen/a.txt", "a")
	_, err = rooms.RollBack(ctx, x, w, done.Safety, "", "")
	must(t, err)
	p.holds("gen/a.txt", "important")
	must(t, x.Close())
}

// TestCreateMendsTouched: a file that had to be read makes its damaged object
// whole, though nothing else changed.
func TestCreateMendsTouched(t *testing.T) {
	t.Parallel()
	for what := range damages([]byte("content")) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			p := newProject(t, store.NewMemory())
			p.begin("session-1")
			s := p.open()
			w, x := p.workspace(s), lockPRD(t, s, "PRD-009")
			p.save("user.txt", "important")
			p.capture(x, w, state.TriggerManual)
			p.damage(p.objectOf(x, w, "user.txt"), what)
			p.save("user.txt", "important")
			_, err := x.Create(ctx, w, "")
			must(t, err)
			must(t, x.Close())
			v, err := Validate(ctx, s, w, ValidateOptions{PRD: "PRD-009", Deep: true})
			must(t, err)
			for _, session := range v.Sessions {
				for _, c := range session.Checkpoints {
					if !c.Whole() {
						t.Errorf("%s: %v", c.Ref.ID, c.Problems)
					}
				}
			}
		})
	}
}

func (p *project) objectOf(x *Session, w *workspace.Workspace, path string) string {
	p.t.Helper()
	l, err := w.Load(context.Background(), x.State().Capture.Listing)
	must(p.t, err)
	for _, e := range l.Entries {
		if e.Path == path {
			object, _, err := x.store.Objects().Path(e.Digest)
			must(p.t, err)
			return object
		}
	}
	p.t.Fatalf("%s was not captured", path)
	return ""
}

func (p *project) damage(path, what string) {
	p.t.Helper()
	data, err := store.ReadFile(p.fs, path)
	must(p.t, err)
	if wrong := damages(data)[what]; wrong != nil {
		must(p.t, store.WriteFile(p.fs, path, wrong))
	} else {
		must(p.t, p.fs.Remove(path))
	}
}

func (p *project) holds(path, want string) {
	p.t.Helper()
	got, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(path)))
	must(p.t, err)
	same(p.t, path, string(got), want)
}

// damageLoose damages an object of git.
func damageLoose(t *testing.T, ws, name, what string) {
	t.Helper()
	path := filepath.Join(ws, ".git", "objects", name[:2], name[2:])
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.Remove(path))
	if wrong := damages(data)[what]; wrong != nil {
		must(t, os.WriteFile(path, wrong, 0o444))
	}
}
