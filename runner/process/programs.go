package process

import (
	"sync"
	"time"

	"prdrunner/runner"
)

// programAge is how long a look-up holds at most.
const programAge = time.Second

// maxPrograms bounds how many look-ups are remembered.
const maxPrograms = 64

// programs remembers where programs were found. A workstream may put a program
// into a directory of the path, and what depends on it must find that one. So a
// look-up holds for the tasks that could have been started when it was made, and
// for those for a moment only: people put programs there, too. To look takes some
// microseconds a directory, of which a path may have many.
type programs struct {
	mu    sync.Mutex
	found map[wanted]foundProgram
}

// wanted is what a look-up depends on, beside the file system.
type wanted struct{ name, path, dir string }

type foundProgram struct {
	file string
	at   time.Time // before it was looked for
}

// of is lookUp for a task at this moment, or what it found before. It remembers
// nothing of a task that cannot tell since when it could have been started.
func (p *programs) of(work runner.Task, path string, now time.Time) (file string, remembered bool, failure *startFailure) {
	w := wanted{work.Command[0], path, work.Dir}
	if file := p.remembered(w, work.Ready, now); file != "" {
		return file, true, nil
	}
	file, failure = lookUp(w.name, w.path, w.dir)
	if failure == nil && !work.Ready.IsZero() {
		p.remember(w, foundProgram{file, now})
	}
	return file, false, failure
}

// remembered is what was found since ready, "" where that is not known any more.
func (p *programs) remembered(w wanted, ready, now time.Time) string {
	if ready.IsZero() {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.found[w]; f.at.After(ready) && now.Sub(f.at).Abs() < programAge {
		return f.file
	}
	return ""
}

func (p *programs) remember(w wanted, f foundProgram) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil || len(p.found) >= maxPrograms {
		p.found = make(map[wanted]foundProgram)
	}
	p.found[w] = f
}
