//go:build unix

package main

import (
	"os"
	"testing"
	"time"
)

// TestAnEditIsSeenWhateverItsTimesSay edits an input without changing its length, and
// sets its modification time to the old one, to the past, or to the future. The
// workstream must run again. A new modification time alone must not make it run again.
func TestAnEditIsSeenWhateverItsTimesSay(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(was time.Time) time.Time{
		"the same":   func(was time.Time) time.Time { return was },
		"the past":   func(time.Time) time.Time { return time.Unix(1e9, 0) },
		"the future": func(was time.Time) time.Time { return was.AddDate(10, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, `
phase "one" {
  workstream "A" {
    inputs = ["in.txt"]
    script = "echo A >> ran"
  }
  workstream "last" {
    depends_on = [workstream.A]
    script     = "echo last >> ran; exit 1"
  }
}`)
			long := time.Now().Add(-time.Hour) // so old that Runner need not read an unchanged file again
			d.write("in.txt", "one")
			d.touch("in.txt", long)
			d.runs(1, "build", "PRD-001")
			d.ran("A", "last")

			d.touch("in.txt", of(long))
			d.build(1)
			d.ran("last")

			info, err := os.Stat(d.path("in.txt"))
			if err != nil {
				t.Fatal(err)
			}
			d.write("in.txt", "two")
			d.touch("in.txt", of(info.ModTime()))
			d.build(1)
			d.ran("A", "last")
		})
	}
}

// touch sets the modification time of a file.
func (d *desk) touch(name string, at time.Time) {
	d.t.Helper()
	if err := os.Chtimes(d.path(name), at, at); err != nil {
		d.t.Fatal(err)
	}
}
