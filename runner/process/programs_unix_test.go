//go:build unix

package process

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prdrunner/runner"
)

// TestRememberedProgram runs a program from the last of two directories in PATH, and then
// puts another program of that name into the first. Only a task that was ready before
// that may use the remembered path, and only for lookupLifetime.
func TestRememberedProgram(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	install := func(t *testing.T, dir string, code int) {
		t.Helper()
		name := filepath.Join(dir, "tool")
		if err := os.WriteFile(name+".new", []byte("#!/bin/sh\nexit "+string(rune('0'+code))+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		ready  time.Duration // when the second task was ready, after the start of the first
		later  time.Duration // when the second task is started
		absent bool          // the task has no Ready
		gone   bool          // the first program is removed
		want   int
	}{
		"it could have been started before":       {ready: -1, later: lookupLifetime / 2, want: 1},
		"what it depends on ended since":          {ready: 1, later: lookupLifetime / 2, want: 2},
		"what it depends on ended at that time":   {ready: 0, later: lookupLifetime / 2, want: 2},
		"nobody knows when it could have been":    {absent: true, later: lookupLifetime / 2, want: 2},
		"that was a while ago":                    {ready: -1, later: lookupLifetime, want: 2},
		"the clock was put back":                  {ready: -1, later: -lookupLifetime, want: 2},
		"it is not where it was any more":         {ready: -1, later: lookupLifetime / 2, gone: true, want: 2},
		"it is gone, and it is looked for anyway": {ready: 1, later: lookupLifetime / 2, gone: true, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Pointer[time.Time]
			now.Store(&begin)
			first, last := t.TempDir(), t.TempDir()
			e := newExecutor(t, Options{
				BaseEnv: []string{"PATH=" + first + string(filepath.ListSeparator) + last},
				Now:     func() time.Time { return *now.Load() },
			})
			install(t, last, 1)
			task := command(t, "tool")
			task.Ready = begin.Add(-1)
			if r := run(t, e, task); r.ExitCode != 1 {
				t.Fatalf("the first: %+v", r)
			}
			install(t, first, 2)
			if test.gone {
				if err := os.Remove(filepath.Join(last, "tool")); err != nil {
					t.Fatal(err)
				}
			}
			then := begin.Add(test.later)
			now.Store(&then)
			task.Ready = begin.Add(test.ready)
			if test.absent {
				task.Ready = time.Time{}
			}
			if r := run(t, e, task); r.Outcome != runner.Exited || r.ExitCode != test.want {
				t.Errorf("the second: %+v, want exit code %d", r, test.want)
			}
		})
	}
}

// TestMovedProgram removes the file of a remembered program, and starts several tasks at
// once. All of them find the program in the other directory.
func TestMovedProgram(t *testing.T) {
	t.Parallel()
	now := time.Now()
	first, last := t.TempDir(), t.TempDir()
	e := newExecutor(t, Options{
		BaseEnv: []string{"PATH=" + first + string(filepath.ListSeparator) + last},
		Now:     func() time.Time { return now },
	})
	const tool = "#!/bin/sh\nexit 0\n"
	write := func(dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "tool"), []byte(tool), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(last)
	task := command(t, "tool")
	task.Ready = now.Add(-1)
	for range 20 {
		write(first)
		e.programs.remember(lookupKey{"tool", first + string(filepath.ListSeparator) + last, task.Dir}, lookupResult{filepath.Join(first, "tool"), now})
		if err := os.Remove(filepath.Join(first, "tool")); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				one := task
				one.ID, one.Log = strconv.Itoa(i), filepath.Join(task.Dir, strconv.Itoa(i)+".log")
				if r, err := e.Run(t.Context(), one, nil); err != nil || !r.Succeeded() {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		all.Wait()
	}
}

// TestProgramsAreFew: the cache stays small even if each task uses another program.
func TestProgramsAreFew(t *testing.T) {
	t.Parallel()
	var p programs
	now := time.Now()
	for i := range 3 * maxPrograms {
		p.remember(lookupKey{name: string(rune('a' + i))}, lookupResult{"file", now})
		if len(p.found) > maxPrograms {
			t.Fatalf("%d are remembered", len(p.found))
		}
	}
	if got := p.lookup(lookupKey{name: string(rune('a' + 3*maxPrograms - 1))}, now.Add(-1), now); got != "file" {
		t.Errorf("the last one is %q", got)
	}
}
