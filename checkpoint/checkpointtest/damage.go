package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
)

// Damages returns the ways to damage a file, with the resulting content; nil means that
// the file is deleted.
func Damages(file []byte) map[string][]byte {
	flipped := bytes.Clone(file)
	flipped[len(file)/2] ^= 0xff
	return map[string][]byte{"flipped": flipped, "emptied": {}, "cut": file[:len(file)/2], "deleted": nil}
}

// DamageFile damages a file of the state directory in one of the ways of Damages.
func DamageFile(p *Project, path, what string) {
	p.T.Helper()
	data, err := store.ReadFile(p.FS, path)
	Must(p.T, err)
	if wrong := Damages(data)[what]; wrong != nil {
		Must(p.T, store.WriteFile(p.FS, path, wrong))
	} else {
		Must(p.T, p.FS.Remove(path))
	}
}

// DamageLoose damages a loose object of git.
func DamageLoose(t *testing.T, ws, name, what string) {
	t.Helper()
	path := filepath.Join(ws, ".git", "objects", name[:2], name[2:])
	data, err := os.ReadFile(path)
	Must(t, err)
	Must(t, os.Remove(path))
	if wrong := Damages(data)[what]; wrong != nil {
		Must(t, os.WriteFile(path, wrong, 0o444))
	}
}

// FlipByte changes one byte of a file.
func FlipByte(f *Fixture, name string, at int) {
	f.T.Helper()
	data := bytes.Clone(f.Read(name))
	data[(at+len(data))%len(data)] ^= 1
	f.Write(name, data)
}

// Stopped makes a session with three checkpoints and their files, and closes it.
func Stopped(f *Fixture) (ids []string) {
	f.T.Helper()
	x := f.Run()
	for i := range 3 {
		for _, e := range Work(fmt.Sprintf("WS%d", i+2), []string{"type-check", "lint", "type-check"}[i], fmt.Sprintf("%d.ts", i)) {
			Commit(f.T, x, e)
		}
		id, _ := x.Checkpoint(state.TriggerManual, "", nil)
		Commit(f.T, x)
		Must(f.T, x.WriteDerived(context.Background()))
		ids = append(ids, id)
	}
	Must(f.T, x.Close())
	return ids
}

// SaveAtRest saves a file, and returns once the file is so old that captures rely on its
// times. Later captures then do not read the file, and so do not repair its object by
// chance.
func SaveAtRest(p *Project, path, content string) {
	p.T.Helper()
	const margin = 50 * time.Millisecond // longer than a capture requires
	p.Save(path, content)
	saved, err := os.Stat(filepath.Join(p.Root, filepath.FromSlash(path)))
	Must(p.T, err)
	for probe := filepath.Join(p.T.TempDir(), "probe"); ; runtime.Gosched() {
		Must(p.T, os.WriteFile(probe, nil, 0o600))
		now, err := os.Stat(probe)
		Must(p.T, err)
		if now.ModTime().Sub(saved.ModTime()) > margin {
			return
		}
	}
}

// ObjectOf returns the path of the object that holds a captured file.
func ObjectOf(p *Project, x *checkpoint.Session, w *workspace.Workspace, path string) string {
	p.T.Helper()
	l, err := w.Load(context.Background(), x.State().Capture.Listing)
	Must(p.T, err)
	for _, e := range l.Entries {
		if e.Path == path {
			object, _, err := x.Store().Objects().Path(e.Digest)
			Must(p.T, err)
			return object
		}
	}
	p.T.Fatalf("%s was not captured", path)
	return ""
}

// WantFile fails the test unless a file of the workspace has the content.
func WantFile(p *Project, path, want string) {
	p.T.Helper()
	got, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(path)))
	Must(p.T, err)
	Same(p.T, path, string(got), want)
}

// Validated validates the sessions of a store.
func Validated(f *Fixture, o validate.Options) *validate.Validation {
	f.T.Helper()
	v, err := validate.Run(context.Background(), f.Open(), nil, o)
	Must(f.T, err)
	return v
}

// Exported returns an archive of the current session.
func Exported(p *Project) []byte {
	p.T.Helper()
	s := p.Open()
	var out bytes.Buffer
	done, err := transfer.Export(context.Background(), s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Out: &out})
	Must(p.T, err)
	if len(done.Lacking) > 0 {
		p.T.Fatalf("the archive lacks %+v", done.Lacking)
	}
	return out.Bytes()
}

// TakeIn imports an archive.
func TakeIn(s *checkpoint.Store, archive []byte, replace bool) (*transfer.Placed, error) {
	i, err := transfer.OpenImport(context.Background(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
	if err != nil {
		return nil, err
	}
	placed, err := i.Place(context.Background(), By, transfer.PlaceOptions{Replace: replace})
	return placed, errors.Join(err, i.Close())
}

// Untouched fails the test for each file that was added, changed or removed. The maps are
// from Everything.
func Untouched(t *testing.T, what string, after, before map[string]string) {
	t.Helper()
	for path := range after {
		if _, had := before[path]; !had {
			t.Errorf("%s: %s is new", what, path)
		}
	}
	for path, was := range before {
		if after[path] != was {
			t.Errorf("%s: %s is %q, and was %q", what, path, after[path], was)
		}
	}
}
