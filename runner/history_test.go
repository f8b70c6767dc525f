//go:build unix

package runner_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var (
	modelHistories = flag.Int("model.histories", 60, "how many histories TestHistories plays beside the model")
	modelSeed      = flag.Int("model.seed", 1, "the seed of the first history")
	soak           = flag.Duration("soak", 0, "how long TestSoak plays new histories; 0: a few")
)

// TestHistories plays random histories: pipelines that fail, wait, are interrupted or
// killed, and are resumed after edits. A simple model reads the journal and must agree
// with the engine about each start, verdict, plan and end of a run. Kept histories, which
// once found a bug, are played first.
func TestHistories(t *testing.T) {
	for _, file := range keptHistories(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			if err := playIn(t, readHistory(t, file), t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
	played, seed, err := playMany(t, t.TempDir(), *modelSeed, *modelHistories, time.Time{}, 1)
	if err != nil {
		t.Errorf("history %d: %v", played, err)
		shrinkHistory(t, seed)
	} else if played != *modelHistories {
		t.Errorf("%d histories were played, not %d", played, *modelHistories)
	}
	t.Logf("%d histories, with the seeds from %d on", played, *modelSeed)
}

// TestSoak plays histories with new seeds until its time is over.
func TestSoak(t *testing.T) {
	most, until, failures := 1<<30, time.Now().Add(*soak), 10
	first := int(time.Now().UnixNano() >> 16)
	if *soak == 0 {
		first, most, until, failures = *modelSeed+1<<20, 10, time.Time{}, 1
	}
	played, seed, err := playMany(t, t.TempDir(), first, most, until, failures)
	t.Logf("%d histories, with the seeds from %d on", played, first)
	if err != nil {
		t.Error(err)
		shrinkHistory(t, seed)
	}
}

// playMany plays histories on all processors, until the given number has failed or the
// time is over. It returns how many were played, and the seed of the first that failed.
func playMany(t *testing.T, below string, first, most int, until time.Time, failures int) (played, bad int, err error) {
	var next, ended atomic.Int64
	var mu sync.Mutex
	var all []string
	var workers sync.WaitGroup
	histories := histories()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				mu.Lock()
				enough := len(all) >= failures
				mu.Unlock()
				if enough || i >= most || !until.IsZero() && time.Now().After(until) {
					return
				}
				failed := playIn(t, histories.Example(first+i), below)
				ended.Add(1)
				if failed == nil {
					continue
				}
				mu.Lock()
				if len(all) == 0 {
					bad = first + i
				}
				all = append(all, fmt.Sprintf("seed %d: %v\nrepeat it with -model.seed=%d -model.histories=1", first+i, failed, first+i))
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if len(all) > 0 {
		err = fmt.Errorf("%d failed\n%s", len(all), strings.Join(all, "\n"))
	}
	return int(ended.Load()), bad, err
}

// shrinkHistory finds a small history that fails like the one of a seed, and prints it in
// the form for testdata. No other test runs meanwhile, since flags apply to the whole
// process.
func shrinkHistory(t *testing.T, seed int) {
	for name, value := range map[string]string{"rapid.seed": strconv.Itoa(seed), "rapid.checks": "1", "rapid.nofailfile": "true"} {
		was := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set(name, was) }()
	}
	var smallest history
	below := t.TempDir()
	rapidFails := t.Run("smaller", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			h := histories().Draw(rt, "history")
			if err := playIn(t, h, below); err != nil {
				smallest = h
				rt.Fatalf("%v", err)
			}
		})
	})
	if text, err := json.MarshalIndent(smallest, "", " "); !rapidFails && err == nil {
		t.Logf("to keep it, put this into testdata/histories:\n%s", text)
	}
}

// playIn plays a history with a clock of its own, so that no wait takes time.
func playIn(t *testing.T, h history, below string) (err error) {
	synctest.Test(t, func(*testing.T) { err = playHistory(h, below) })
	return err
}

func keptHistories(t *testing.T) []string {
	t.Helper()
	kept, err := filepath.Glob("testdata/histories/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) == 0 {
		t.Fatal("there are no kept histories")
	}
	return kept
}

func readHistory(t *testing.T, file string) history {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var h history
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return h
}
