package view

import (
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/runner/progress"
)

// keyHelp is the line that `?` shows, and pauseHelp its beginning if the run can be asked to pause.
const (
	keyHelp   = "  ↑ ↓ or k j: select   l: log of the selected row   ?: hide this"
	pauseHelp = "  p: pause at the next boundary "
)

// key is a key that the live view acts on.
type key int

const (
	pauseKey key = iota
	logKey
	helpKey
	upKey
	downKey
	stopKey
)

// readKeys returns the keys in what was typed, and the beginning of a sequence of which the rest is not there yet.
func readKeys(typed string) (keys []key, rest string) {
	sequences := []struct {
		text string
		key  key
	}{{"\x1b[A", upKey}, {"\x1bOA", upKey}, {"\x1b[B", downKey}, {"\x1bOB", downKey}, {"k", upKey}, {"j", downKey}, {"p", pauseKey}, {"l", logKey}, {"?", helpKey}, {string(StopKey), stopKey}}
	for typed != "" {
		if typed == "\x1b" || typed == "\x1b[" || typed == "\x1bO" {
			return keys, typed
		}
		length := 1
		for _, s := range sequences {
			if strings.HasPrefix(typed, s.text) {
				keys, length = append(keys, s.key), len(s.text)
				break
			}
		}
		typed = typed[length:]
	}
	return keys, ""
}

// keyboard is what the user has typed into a live view.
type keyboard struct {
	rest     string // the beginning of a sequence
	help     bool
	selected string    // the id of the selected row; "": none
	at       int       // where it was in the last frame
	rows     []stepRow // of the last frame
}

// take takes note of the rows of a frame, and chooses another selected one if the selected one is not there.
func (k *keyboard) take(rows []stepRow) {
	k.rows = rows
	if k.selected == "" {
		return
	}
	if i := slices.IndexFunc(rows, func(r stepRow) bool { return r.id == k.selected }); i >= 0 {
		k.at = i
		return
	}
	k.choose(k.at)
}

// choose selects the row at a place, or the nearest.
func (k *keyboard) choose(at int) {
	if k.selected = ""; len(k.rows) > 0 {
		k.at = max(0, min(at, len(k.rows)-1))
		k.selected = k.rows[k.at].id
	}
}

// move selects the row that is so many rows further down, or the first one if none is selected.
func (k *keyboard) move(by int) {
	if k.selected == "" {
		by = -k.at
	}
	k.choose(k.at + by)
}

// typed acts on what was typed since the last tick. The caller holds v.mu.
func (v *live) typed() {
	if v.control.Continued() {
		v.proceed()
	}
	if v.holds > 0 || v.ended {
		return
	}
	var keys []key
	keys, v.keys.rest = readKeys(v.keys.rest + string(v.control.Keys()))
	for _, k := range keys {
		v.changed = true
		switch k {
		case pauseKey:
			if v.pause != nil && v.stopping == nil && !v.plain.progress.Pausing() {
				v.reading.Go(v.pause) // what it writes would hold the view
			}
		case logKey:
			v.printSelected()
		case helpKey:
			v.keys.help = !v.keys.help
		case upKey:
			v.keys.move(-1)
		case downKey:
			v.keys.move(1)
		case stopKey:
			v.suspend()
		}
	}
}

// printSelected prints the end of the log of the selected row above the frame, of the first row if none is
// selected.
func (v *live) printSelected() {
	if v.keys.selected == "" {
		v.keys.choose(0)
	}
	if v.keys.selected == "" {
		v.plain.printNeutral("", "nothing runs, so there is no log to show")
		return
	}
	a := v.keys.rows[v.keys.at].of
	if a.Activity == progress.Asking {
		v.plain.printNeutral("", a.Name+" has no log: it waits for an answer")
		return
	}
	path := v.logOf(a)
	if a.Activity == progress.Retrying { // the next attempt has not begun
		path = filepath.Join(v.plain.logs.Dir, disk.LogName(a.Log, a.Attempt-1))
	}
	v.plain.page.Printf("%s\n", v.plain.page.Paint(Bold, a.Name))
	v.plain.printTail(filepath.Base(path))
}

// Lend implements Lender.
func (v *live) Lend() (giveBack func()) {
	release := v.Hold()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lent++
	v.control.Give()
	return func() {
		v.mu.Lock()
		v.lent--
		v.mu.Unlock()
		release()
	}
}

// Defer implements Lender.
func (v *live) Defer(text []byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lent == 0 || v.ended {
		return false
	}
	v.plain.page.Write(text)
	if !strings.HasSuffix(string(text), "\n") {
		v.plain.page.WriteByte('\n')
	}
	return true
}

// suspend leaves the screen and the keyboard to the shell while this process is stopped. The caller holds v.mu.
func (v *live) suspend() {
	columns, _ := v.size()
	v.show(nil, columns)
	v.control.Give()
	v.control.Stop()
	v.proceed()
}

// proceed draws again after this process was stopped, below what the shell has written since. The caller holds
// v.mu.
func (v *live) proceed() {
	v.control.Continued()
	v.control.Give()
	v.screen.drawn, v.changed = nil, true
}
