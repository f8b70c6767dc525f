package process

import (
	"sync"
	"time"

	"prdrunner/runner"
)

// lookupLifetime is how long a lookup stays valid.
const lookupLifetime = time.Second

// maxPrograms bounds the number of remembered lookups.
const maxPrograms = 64

// programs caches the paths of programs. A workstream may write a program into a directory
// of the path, and its dependents must find that one. So a lookup serves only tasks that
// were ready before it, and expires after lookupLifetime, because users install programs
// too. A lookup takes some microseconds per directory of the path.
type programs struct {
	mu    sync.Mutex
	found map[lookupKey]lookupResult
}

// lookupKey holds the values that a lookup depends on, besides the file system.
type lookupKey struct{ name, path, dir string }

type lookupResult struct {
	file string
	at   time.Time // time before the lookup
}

// findProgram returns the program for a task, and whether it comes from the cache. A task
// without a time at which it was ready uses no cache.
func (p *programs) findProgram(work runner.Task, path string, now time.Time) (file string, remembered bool, failure *startFailure) {
	w := lookupKey{work.Command[0], path, work.Dir}
	if file := p.lookup(w, work.Ready, now); file != "" {
		return file, true, nil
	}
	file, failure = lookUp(w.name, w.path, w.dir)
	if failure == nil && !work.Ready.IsZero() {
		p.remember(w, lookupResult{file, now})
	}
	return file, false, failure
}

// lookup returns a lookup made since ready, or "".
func (p *programs) lookup(w lookupKey, ready, now time.Time) string {
	if ready.IsZero() {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.found[w]; f.at.After(ready) && now.Sub(f.at).Abs() < lookupLifetime {
		return f.file
	}
	return ""
}

func (p *programs) remember(w lookupKey, f lookupResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil || len(p.found) >= maxPrograms {
		p.found = make(map[lookupKey]lookupResult)
	}
	p.found[w] = f
}
