package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Mark is how the status of a workstream or gate is drawn.
type Mark struct {
	Class Class  // its colour and its outline
	Sign  string // one character
	Text  string // the status in words
}

// Class is a class of the style sheet.
type Class string

// The classes.
const (
	ClassAside   Class = "dim" // skipped, or done by an earlier session
	ClassDone    Class = "ok"
	ClassPending Class = "todo"
	ClassRunning Class = "run"
	ClassWaiting Class = "wait" // for a person, or something else needs attention
	ClassFailed  Class = "bad"
)

// urgency orders classes: what needs attention most comes last.
func (c Class) urgency() int {
	return slices.Index([]Class{ClassAside, ClassDone, ClassPending, ClassRunning, ClassWaiting, ClassFailed}, c)
}

// Tally counts marks by their texts. The zero value is ready to use.
type Tally struct {
	counts map[string]int
	order  []string
	worst  Mark
}

// Add counts a mark.
func (t *Tally) Add(m Mark) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	if t.counts[m.Text]++; t.counts[m.Text] == 1 {
		t.order = append(t.order, m.Text)
	}
	t.Weigh(m)
}

// Weigh lets a mark count for the sign, and not for the text.
func (t *Tally) Weigh(m Mark) {
	if t.worst.Class == "" || m.Class.urgency() > t.worst.Class.urgency() {
		t.worst = m
	}
}

// Mark returns the mark that needs attention most, with the counts of all as its text: 40 completed, 3 failed.
func (t *Tally) Mark() Mark {
	parts := make([]string, len(t.order))
	for i, text := range t.order {
		parts[i] = fmt.Sprintf("%d %s", t.counts[text], text)
	}
	m := t.worst
	m.Text = strings.Join(parts, ", ")
	return m
}
