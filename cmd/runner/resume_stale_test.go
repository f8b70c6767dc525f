//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// reported is a pipeline in which B and the gate depend on what A reports. A reads the
// file value without declaring it as an input.
const reported = `
phase "one" {
  workstream "A" {
    script    = <<-EOT
      echo A >> ran
      test ! -e broken
      test -e silent || printf 'value=%s\nmetric.size=%s\n' "$(cat value)" "$(cat value)" >> $RUNNER_OUTPUT
      mkdir -p out
      cat value > out/$(cat value).txt
    EOT
    artifacts = ["out/*.txt"]
  }
  gate "sized" {
    metric = "size"
    min    = 5
  }
}
phase "two" {
  workstream "B" {
    command = ["sh", "-c", "echo B-$0 >> ran; test $0 = 7", workstream.A.outputs.value]
  }
}
`

// TestInvalidateForgetsABadResult gives A a wrong result that Runner can't detect, and
// invalidates A (coleam00/Archon 1391: there was no way to). From then on no command may
// show or use the outputs, artifacts and verdicts of the old result, even if the next
// attempt of A fails.
func TestInvalidateForgetsABadResult(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *desk {
		t.Helper()
		d := newDesk(t, reported)
		d.write("value", "6")
		d.runs(1, "build", "PRD-001")
		d.ran("A", "B-6")
		d.write("value", "7")
		d.build(1)
		d.ran("B-6") // Runner can't know that value has changed
		return d
	}
	t.Run("it runs again", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.build(0, "--invalidate", "A")
		d.ran("A", "B-7")
	})
	t.Run("the run again fails", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.write("broken", "")
		for _, args := range [][]string{{"--invalidate", "A"}, nil, {"--only", "B"}, {"--from", "two"}} {
			d.build(1, args...)
			d.ran("A")
			if st := d.status(); st["A"] != "failed" || st["sized (one)"] != "pending" || strings.Contains(d.out, "Last gate") {
				t.Errorf("A is %s, its gate %s; want failed, pending and no last gate:\n%s", st["A"], st["sized (one)"], d.out)
			}
			for _, command := range [][]string{{"status", "PRD-001", "--json"}, {"checkpoint", "show", "PRD-001", "latest"}, {"status", "PRD-001"}} {
				d.runs(0, command...)
				if strings.Contains(d.out, "out/6.txt") || strings.Contains(d.out, `"value"`) || strings.Contains(d.out, "A value") || strings.Contains(d.out, "size: 6") || strings.Contains(d.out, "last_gate") || strings.Contains(d.out, "Last gate") {
					t.Errorf("%s shows the invalidated result:\n%s", command, d.out)
				}
			}
		}
		d.remove("broken")
		d.build(0)
		d.ran("A", "B-7")
	})
	t.Run("the run again reports nothing", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.write("silent", "")
		d.build(1, "--invalidate", "A")
		d.ran("A")
		d.stands("sized (one)", "failed")
		if !strings.Contains(d.out, "no workstream reported the metric size") {
			t.Errorf("the status does not say that the metric is missing:\n%s", d.out)
		}
	})
	t.Run("the runner is killed before it runs again", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, strings.Replace(reported, `phase "one" {`, `phase "zero" {
  workstream "first" { script = "echo first >> ran; test ! -e slow || { echo > started; exec sleep 100; }" }
}
phase "one" {`, 1))
		d.write("value", "6")
		d.runs(1, "build", "PRD-001")
		d.ran("first", "A", "B-6")
		d.write("value", "7")
		d.write("slow", "")
		d.end(d.start("started", "--resume", "--invalidate", "A", "--invalidate", "first"), syscall.SIGKILL)
		d.remove("slow")
		d.build(0)
		d.ran("first", "first", "A", "B-7")
	})
	t.Run("an artifact that it makes no more is nobody's", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.remove("out")
		d.build(0, "--invalidate", "A")
		d.ran("A", "B-7")
		if _, err := os.Stat(d.path("out/6.txt")); !os.IsNotExist(err) {
			t.Errorf("Runner has restored the old artifact out/6.txt: %v", err)
		}
	})
}

// TestAStaleResultFileIsNoResult leaves outputs in $RUNNER_OUTPUT that come from another
// attempt or run than the last. Runner must not take them for the outputs of the last
// attempt (nextflow-io/nextflow 5595: an exit code of an earlier run made a step count as
// done).
func TestAStaleResultFileIsNoResult(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "before" { script = "echo before >> ran; BEFORE" }
  workstream "A" {
    depends_on = [workstream.before]
    script     = "echo A >> ran; test ! -e cut || { printf 'value=stale\nmetric.size=9\n' > $RUNNER_OUTPUT; cp $RUNNER_OUTPUT was; echo > started; CUT; }"
    timeout    = "TIMEOUT"
    retry {
      attempts         = ATTEMPTS
      initial_interval = "1ms"
    }
  }
  gate "sized" {
    metric = "size"
    min    = 5
  }
}
`
	with := func(before, cut, timeout, attempts string) string {
		return strings.NewReplacer("BEFORE", before, "CUT", cut, "TIMEOUT", timeout, "ATTEMPTS", attempts).Replace(source)
	}
	red := func(t *testing.T, d *desk) {
		t.Helper()
		d.stands("sized (one)", "failed")
		d.runs(0, "status", "PRD-001", "--json")
		if strings.Contains(d.out, "stale") || strings.Contains(d.out, `"metrics"`) {
			t.Errorf("Runner has taken stale outputs:\n%s", d.out)
		}
	}
	t.Run("of a killed run", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, with("true", "exec sleep 100", "1h", "1"))
		d.write("cut", "")
		d.end(d.start("started"), syscall.SIGKILL)
		d.remove("cut")
		d.build(1)
		d.ran("before", "A", "A")
		red(t, d)
	})
	t.Run("of an attempt that a rollback took back", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, with("true", "exec sleep 100", "1h", "1"))
		d.write("cut", "")
		d.end(d.start("started"), syscall.SIGKILL)
		d.remove("cut")
		d.runs(1, "build", "PRD-001", "--resume=0", "--yes")
		red(t, d)
	})
	t.Run("of another session", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, with("true", "exec sleep 100", "1h", "1"))
		d.write("cut", "")
		d.end(d.start("started"), syscall.SIGKILL)
		d.remove("cut")
		d.runs(1, "build", "PRD-001", "--fresh")
		red(t, d)
	})
	t.Run("of an attempt that failed", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, with("true", "rm cut; exit 1", "1h", "2"))
		d.write("cut", "")
		d.runs(1, "build", "PRD-001")
		d.ran("before", "A", "A")
		red(t, d)
	})
	t.Run("of an attempt that took too long", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, with("true", "rm cut; exec sleep 100", "500ms", "2"))
		d.write("cut", "")
		d.runs(1, "build", "PRD-001")
		d.ran("before", "A", "A")
		red(t, d)
	})
	t.Run("of whoever knew where it would be", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, with(`printf 'value=stale\nmetric.size=9\n' > $${RUNNER_OUTPUT%/*}/A.1`, "exit 1", "1h", "1"))
		d.runs(1, "build", "PRD-001")
		d.ran("before", "A")
		red(t, d)
	})
}

// TestAPartialFileIsNotDone interrupts a workstream in every way after it has written
// half of an artifact. Runner must not take that file for the result, and must run the
// workstream again (snakemake/snakemake 627).
func TestAPartialFileIsNotDone(t *testing.T) {
	t.Parallel()
	cuts := []struct {
		name, cut string
		exit      int // exit code of the build; 0: the test ends the build with a signal
		with      syscall.Signal
	}{
		{"the runner is killed", "exec sleep 100", 0, syscall.SIGKILL},
		{"the runner is terminated", "exec sleep 100", 0, syscall.SIGTERM},
		{"the runner is interrupted", "exec sleep 100", 0, syscall.SIGINT},
		{"the step fails", "exit 3", 1, 0},
		{"the step is killed", "kill -KILL $$", 1, 0},
		{"the step takes too long", "exec sleep 100", 1, 0},
		{"another file is missing", "exit 0", 1, 0},
	}
	for _, c := range cuts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			timeout := "1h"
			if c.name == "the step takes too long" {
				timeout = "300ms"
			}
			d := newDesk(t, `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; mkdir -p out; echo half > out/a.txt; test -e whole || { echo > started; `+c.cut+`; }; echo whole > out/a.txt; echo > out/b.txt"
    artifacts = ["out/a.txt", "out/b.txt"]
    timeout   = "`+timeout+`"
  }
}
phase "two" {
  workstream "B" { script = "echo B-$(cat out/a.txt) >> ran" }
}`)
			if c.exit == 0 {
				d.end(d.start("started"), c.with)
			} else {
				d.runs(c.exit, "build", "PRD-001")
			}
			d.holds("out/a.txt", "half")
			if doc := d.document(); len(doc.Completed) > 0 {
				t.Errorf("the PRD document says that A is completed: %+v", doc)
			}
			d.runs(0, "plan", "PRD-001", "--resume")
			d.write("whole", "")
			d.pipeline(strings.Replace(d.source, timeout, "1h", 1)) // enough on a slow machine
			d.build(0)
			d.ran("A", "A", "B-whole")
		})
	}
}

// TestAFileThatWasThereBefore runs workstreams that do not write their artifacts. A file
// that already exists counts as the artifact, for tools that leave up-to-date files
// alone. A missing file makes the workstream fail, and a later edit is a conflict.
func TestAFileThatWasThereBefore(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; test -e a.txt"
    artifacts = ["a.txt"]
  }
  workstream "B" {
    script    = "echo B >> ran"
    artifacts = ["b.txt"]
  }
}`)
	d.write("a.txt", "old")
	d.runs(1, "build", "PRD-001", "--keep-going") // b.txt does not exist
	d.ran("A", "B")
	d.stands("A", "completed")
	d.stands("B", "failed")
	d.write("b.txt", "by hand")
	d.write("a.txt", "edited")
	d.build(5)
	d.ran()
	d.build(0, "--on-conflict", "restore")
	d.ran("B")
	d.holds("a.txt", "old")
	d.holds("b.txt", "by hand")
}
