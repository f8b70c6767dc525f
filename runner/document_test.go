package runner_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// documents is a file system that calls written before each write of the PRD document.
type documents struct {
	store.FS
	written func()
}

func (d *documents) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if strings.HasPrefix(filepath.Base(name), ".tmp-PRD-001.json-") {
		d.written()
	}
	return d.FS.OpenFile(name, flag, perm)
}

// TestNextIsStartedBeforeTheDocumentIsWritten: Runner starts the next workstream before
// it writes the PRD document. B runs until the document is written, because Runner does
// not write the document again soon after a slow write.
func TestNextIsStartedBeforeTheDocumentIsWritten(t *testing.T) {
	t.Parallel()
	fsys := &documents{FS: store.OS()}
	b := newBenchOn(t, fsys, `
phase "one" {
  workstream "A" { command = ["sleep", "0.3"] }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "until test -e written; do sleep 0.01; done"
  }
}
`)
	ended, started, through := event(state.KindWorkstreamCompleted, "A"), event(state.KindWorkstreamStarted, "B"), event(state.KindWorkstreamCompleted, "B")
	var between, early atomic.Int32
	fsys.written = func() {
		journal, err := os.ReadFile(filepath.Join(b.dir, ".runner/PRD-001/journal.jsonl"))
		switch {
		case err != nil || !ended.Match(journal) || through.Match(journal):
		case !started.Match(journal):
			early.Add(1)
		default:
			between.Add(1)
			if err := os.WriteFile(filepath.Join(b.dir, "written"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := b.build(); err != nil {
		t.Fatal(err)
	}
	if early.Load() > 0 {
		t.Error("a document was written after A and before B was started")
	}
	if between.Load() == 0 {
		t.Error("no document was written while B ran: the test proves nothing")
	}
}

// TestDocumentThatCannotBeWritten puts a directory in the place of the PRD document.
// Runner warns once that it cannot write the document, and must not report later that it
// has. The disk is so slow that no document is due at the second attempt.
func TestDocumentThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	slow := &documents{FS: store.OS(), written: func() { time.Sleep(10 * time.Millisecond) }}
	b := newBenchOn(t, slow, `
phase "one" {
  workstream "A" { script = "mkdir -p d/x; until mv -T d .runner/PRD-001.json 2> /dev/null; do rm -f .runner/PRD-001.json; done" }
  workstream "B" {
    depends_on = [workstream.A]
    command    = ["sleep", "2"]
  }
}
`)
	e, err := b.build()
	if e.Status != state.StatusPaused || err == nil {
		t.Errorf("the session is %s, error %v", e.Status, err)
	}
	if len(b.warned) != 1 || !strings.HasPrefix(b.warned[0], "the document could not be written: ") {
		t.Errorf("warnings %q", b.warned)
	}
}
