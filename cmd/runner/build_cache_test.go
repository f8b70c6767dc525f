//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// copies is a pipeline of three pure workstreams with a cache. Each copies what the one
// before made, so that the artifacts of B and C show which content of src A has read.
const copies = `phase "one" {
  workstream "A" {
    effect    = "pure"
    cache     = true
    inputs    = ["src"]
    artifacts = ["a/**"]
    script    = "rm -rf a; mkdir a; read n < src; cp src a/$n; cp src a/same; echo n=$n >> $RUNNER_OUTPUT; echo A >> ran"
  }
  workstream "B" {
    depends_on = [workstream.A]
    effect     = "pure"
    cache      = true
    inputs     = ["a/**"]
    artifacts  = ["b"]
    env        = { N = workstream.A.outputs.n }
    script     = "test ! -e breaks; cat a/* > b; echo $N >> b; echo B >> ran"
    gate "good" { script = "test ! -e refuses" }
  }
}
phase "two" {
  workstream "C" {
    effect    = "pure"
    cache     = true
    inputs    = ["b"]
    artifacts = ["c"]
    script    = "cp b c; echo C >> ran"
  }
}`

// TestACacheGivesWhatARunWould applies random edits, failures and rollbacks to a
// workspace and builds after each. The build must leave the files that a build without a
// cache would leave, and must not run a workstream again for an input whose result is in
// the cache.
func TestACacheGivesWhatARunWould(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		if !inSample(int(seed), 3) {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test that can be repeated
			d := newDesk(t, copies)
			exists := func(name string) bool { _, err := os.Stat(d.path(name)); return err == nil }
			made := map[int]bool{} // the contents of src from which every workstream has completed
			unmade := false        // b may be edited, or made by a failed B: then B may run
			for range 12 {
				n := r.IntN(3)
				d.write("src", fmt.Sprintf("%d\n", n))
				args, forced := []string{"build", "PRD-001", "--on-conflict", "restore"}, false
				switch r.IntN(8) {
				case 0:
					d.write("breaks", "")
				case 1:
					d.write("refuses", "")
				case 2:
					d.write("b", "an edit")
					unmade = true
				case 3:
					d.exits(nil, []int{0, 2, 4, 5}, "checkpoint", "rollback", "PRD-001", "latest~1", "--yes")
					d.write("src", fmt.Sprintf("%d\n", n))
				}
				switch r.IntN(6) {
				case 0:
					args, forced = append(args, "--fresh"), true
				case 1:
					args, forced = append(args, "--resume=auto", "--invalidate", "B"), true
				default:
					args = append(args, "--resume=auto")
				}
				if !exists(".runner/PRD-001/journal.jsonl") {
					args, forced = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "--inv") || a == "B" }), true
				}
				d.hasRun()
				d.exits(nil, []int{0, 1}, args...)
				ran := d.hasRun()
				if strings.Contains(d.out, "✗") {
					if !exists("breaks") && !exists("refuses") {
						t.Fatalf("the build failed without a cause:\n%s", d.out)
					}
					d.remove("breaks")
					d.remove("refuses")
					delete(made, n)
					unmade = unmade || slices.Contains(ran, "B")
					continue
				}
				want := fmt.Sprintf("%d\n%d\n%d\n", n, n, n)
				for _, name := range []string{"b", "c"} {
					if text, err := os.ReadFile(d.path(name)); string(text) != want {
						t.Fatalf("%s is %q (%v), not %q, after\n%s", name, text, err, want, d.out)
					}
				}
				if files, err := os.ReadDir(d.path("a")); err != nil || len(files) != 2 || files[0].Name() != fmt.Sprint(n) {
					t.Fatalf("the directory a has %v (%v), after\n%s", files, err, d.out)
				}
				if made[n] && !forced && len(ran) > 0 && (!unmade || !slices.Equal(ran, []string{"B"})) {
					t.Fatalf("%v ran although the cache has the results, after\n%s", ran, d.out)
				}
				made[n], unmade = true, false
			}
		})
	}
}
