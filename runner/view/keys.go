package view

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/runner/progress"
)

// pauseHelp is what the help says about the key that pauses the run.
const pauseHelp = "p: pause at the next boundary"

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

// sequenceWait is how long the rest of a sequence may take to come. After that, the beginning of one was the
// key Esc.
const sequenceWait = 200 * time.Millisecond

// readKeys returns the keys in what was typed, and the beginning of a sequence of which the rest is not there yet.
// A sequence that it does not know counts as a whole, and so does pasted text: none of their bytes is a key.
func readKeys(typed string) (keys []key, rest string) {
	for typed != "" {
		length := sequenceLength(typed)
		if length == 0 {
			return keys, typed
		}
		if k, ok := keyOf(typed[:length]); ok {
			keys = append(keys, k)
		}
		typed = typed[length:]
	}
	return keys, ""
}

// keyOf returns the key that a sequence stands for.
func keyOf(sequence string) (k key, ok bool) {
	switch sequence {
	case "\x1b[A", "\x1bOA", "k":
		return upKey, true
	case "\x1b[B", "\x1bOB", "j":
		return downKey, true
	case "p":
		return pauseKey, true
	case "l":
		return logKey, true
	case "?":
		return helpKey, true
	case string(StopKey):
		return stopKey, true
	}
	return 0, false
}

// sequenceLength returns the number of bytes of the sequence, or of the single byte, that a text begins with
// (ECMA-48, and bracketed paste of xterm). It returns 0 if the end of the sequence is not there.
func sequenceLength(text string) int {
	const escape, pasteBegins, pasteEnds = '\x1b', "\x1b[200~", "\x1b[201~"
	switch {
	case text[0] != escape:
		return 1
	case strings.HasPrefix(text, pasteBegins):
		return endOf(text, pasteEnds)
	case len(text) == 1:
		return 0
	}
	switch text[1] {
	case escape: // Esc, or Alt with a key that has a sequence
		return 1
	case '[': // CSI
		for i := 2; i < len(text); i++ {
			if c := text[i]; c < ' ' || c > '~' { // it is broken off
				return i
			} else if c >= '@' {
				return i + 1
			}
		}
		return 0
	case 'O': // SS3
		if len(text) < 3 {
			return 0
		}
		return 3
	case ']', 'P', '_', '^': // OSC, DCS, APC and PM: what a terminal answers
		end := endOf(text, "\x1b\\")
		if bell := endOf(text, "\a"); bell > 0 && (end == 0 || bell < end) {
			return bell
		}
		return end
	}
	return 2 // Alt with a key
}

// endOf returns the number of bytes up to the end of the first place of a mark in a text, 0 if it has none.
func endOf(text, mark string) int {
	if at := strings.Index(text, mark); at >= 0 {
		return at + len(mark)
	}
	return 0
}

// keyboard is what the user has typed into a live view.
type keyboard struct {
	rest     string    // the beginning of a sequence
	typed    time.Time // when something was typed last
	help     bool
	selected string      // the id of the selected row; "": none
	at       int         // its number in the last frame
	from     int         // the number of the first row that the last frame showed
	rows     []stepGroup // what had a row in the last frame, or would have had one
}

// read returns the keys in what was typed.
func (k *keyboard) read(typed []byte, now time.Time) (keys []key) {
	switch {
	case len(typed) > 0:
		k.typed = now
	case now.Sub(k.typed) >= sequenceWait:
		k.rest = ""
	}
	keys, k.rest = readKeys(k.rest + string(typed))
	return keys
}

// take takes note of what has a row in a frame that has room for so many rows, chooses another one if what is selected
// is gone, and returns the number of the first row that is shown: the selected one is among them.
func (k *keyboard) take(rows []stepGroup, most int) (from int) {
	k.rows = rows
	if k.selected != "" {
		if i := slices.IndexFunc(rows, func(r stepGroup) bool { return r.id == k.selected }); i >= 0 {
			k.at = i
		} else {
			k.choose(k.at)
		}
		k.from = min(max(k.from, k.at-most+1), k.at)
	}
	k.from = max(0, min(k.from, len(rows)-most))
	return k.from
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
	for _, k := range v.keys.read(v.control.Keys(), v.now()) {
		v.changed = true
		switch k {
		case pauseKey:
			if v.canPause() {
				v.pauseAsked = true
				v.asking.Go(v.pause) // what it writes would hold the view
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

// canPause reports whether the user can ask the run to pause. The caller holds v.mu.
func (v *live) canPause() bool {
	p := v.plain.progress
	return v.pause != nil && !v.pauseAsked && v.stopping == nil && !p.Pausing() && !p.Over()
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
	a := firstOf(v.keys.rows[v.keys.at].steps)
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
