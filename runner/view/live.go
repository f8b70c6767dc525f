package view

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/progress"
)

const (
	// frameInterval is how often what has happened is shown.
	frameInterval = 40 * time.Millisecond
	// clockInterval is how often clocks and output are shown while nothing happens.
	clockInterval = 500 * time.Millisecond
	// maxUnshown bounds the bytes that wait for the next frame.
	maxUnshown = 64 << 10
)

// live is the plain view, and below it a frame that shows the running and waiting steps. A goroutine
// draws it, which Close ends.
type live struct {
	size func() (columns, rows int)
	now  func() time.Time

	mu        sync.Mutex // of everything below
	plain     *plain
	screen    screen
	lastLines map[string]lastLine // by the name of the log
	changed   bool                // the next frame differs from the last one
	shown     time.Time
	holds     int // the questions and messages of others that are on the screen
	lent      int // how many of them are questions, which have the keyboard
	keys      keyboard
	stopping  *runner.Stopping // after a signal
	ended     bool

	control Control // of the terminal; called with mu locked
	pause   func()  // see Options

	pauseAsked bool // by a key

	stop   func()         // ends the goroutine that draws
	asking sync.WaitGroup // calls of pause
}

// lastLine is the last line of a log when it was read.
type lastLine struct {
	text string
	read time.Time
}

func newLive(o Options) *live {
	v := &live{size: o.Size, now: o.Now, plain: newPlain(o), lastLines: map[string]lastLine{}, control: o.Control, pause: o.Pause, stop: func() {}}
	if v.control == nil {
		v.control = noControl{}
	}
	v.screen.out, v.plain.framed = &v.plain.out, true
	return v
}

// Begin implements runner.View.
func (v *live) Begin(b runner.Beginning) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plain.page.Columns, _ = v.size()
	v.plain.printBegin(b)
	v.draw()
	v.stop = repeatedly(frameInterval, v.tick)
}

func (v *live) tick() (next time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.plain.stream != nil {
		v.plain.stream.Poll(v.now(), v.plain.printOutput)
		v.changed = v.changed || v.plain.page.Len() > 0
	}
	v.plain.left.look(v.now())
	v.typed()
	if v.changed || v.now().Sub(v.shown) >= clockInterval {
		v.draw()
	}
	return frameInterval
}

// endWork ends the goroutines of the view.
func (v *live) endWork() {
	v.stop()
	v.asking.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plain.left.end()
}

// Commit implements runner.View.
func (v *live) Commit(c state.Commit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plain.printCommit(c)
	v.change()
}

// Warn implements runner.View.
func (v *live) Warn(message string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plain.printWarning(message)
	v.change()
}

// change has the next frame show what was printed.
func (v *live) change() {
	v.changed = true
	if v.plain.page.Len() > maxUnshown {
		v.draw()
	}
}

// Stop implements runner.View.
func (v *live) Stop(s runner.Stopping) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stopping = &s
	v.plain.printStop(s)
	v.draw()
}

// Await implements runner.View.
func (v *live) Await(q runner.Awaited) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plain.Await(q)
	v.change()
}

// End implements runner.View.
func (v *live) End(e runner.Ending) {
	v.endWork()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.plain.printEnd(e)
	v.draw()
	v.control.Give()
}

// Close implements View.
func (v *live) Close() {
	v.endWork()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.plain.closeStream()
	v.draw()
	v.control.Give()
}

// Err implements View.
func (v *live) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.plain.Err()
}

// Hold implements Holder.
func (v *live) Hold() (release func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.holds++; v.holds == 1 {
		columns, _ := v.size()
		v.show(nil, columns)
	}
	return sync.OnceFunc(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.holds--
		v.changed = true
	})
}

// draw prints the pending text, and below it the current frame.
func (v *live) draw() {
	columns, rows := v.size()
	switch {
	case v.ended || columns == 0 && v.holds == 0:
		v.show(nil, columns)
	case v.holds == 0:
		v.control.Take()
		f := frame{progress: v.plain.progress, now: v.now(), width: columns, height: rows, color: v.plain.page.color, stopping: v.stopping, lastLine: v.readLastLine, asked: v.keys.help, pauses: v.canPause()}
		f.choose(&v.keys)
		f.left = v.plain.left.describe(f.progress, f.now)
		v.show(f.rows(), columns)
		maps.DeleteFunc(v.lastLines, func(_ string, l lastLine) bool { return f.now.Sub(l.read) > 2*clockInterval }) // no row shows it now
	}
}

// show prints the pending text above the given rows. columns is the width of the terminal, 0 if it is
// not known now.
func (v *live) show(rows []row, columns int) {
	v.plain.page.Columns = columns // so wide is what is printed from now on
	if columns == 0 {
		columns = max(1, v.screen.width)
	}
	text := v.plain.page.String()
	v.plain.page.Reset()
	v.screen.update(text, rows, columns)
	v.changed, v.shown = false, v.now()
}

// readLastLine returns the last line that a running step has printed.
func (v *live) readLastLine(a progress.Active) string {
	key := disk.LogName(a.Log, a.Attempt)
	line := v.lastLines[key]
	if now := v.now(); now.Sub(line.read) >= clockInterval {
		line = lastLine{readLastLine(v.logOf(a)), now}
		v.lastLines[key] = line
	}
	return line.text
}

// logOf returns the path of the log of what runs.
func (v *live) logOf(a progress.Active) string {
	at := func(attempt int) string { return filepath.Join(v.plain.logs.Dir, disk.LogName(a.Log, attempt)) }
	if a.Attempt > 0 {
		return at(a.Attempt)
	}
	last := 1 // no event has the number of a hook's log; it is the last one
	for ; ; last++ {
		if _, err := os.Lstat(at(last + 1)); err != nil {
			return at(last)
		}
	}
}
