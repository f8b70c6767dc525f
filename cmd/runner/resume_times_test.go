//go:build unix

package main

import (
	"os"
	"testing"
	"time"
)

// TestAnEditIsSeenWhateverItsTimesSay: an input of the same length as before,
// whose mtime was set back to what it was, or lies in the past or the future, is
// read for what it holds; and new times of what is as it was are no edit.
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
			long := time.Now().Add(-time.Hour) // so that nobody has a reason to read it again
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

// touch sets the time at which a file was written.
func (d *desk) touch(name string, at time.Time) {
	d.t.Helper()
	if err := os.Chtimes(d.path(name), at, at); err != nil {
		d.t.Fatal(err)
	}
}
