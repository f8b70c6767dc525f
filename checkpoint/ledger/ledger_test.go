package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns a moment, in minutes after a fixed one.
func at(minutes int) time.Time {
	return time.Date(2026, 1, 2, 3, minutes, 0, 0, time.UTC)
}

var from = Source{Workstream: "WS1"}

// parse parses a line that must be right.
func parse(t *testing.T, line string) Report {
	t.Helper()
	r, err := Parse([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return r
}

// step is a line that is reported, and what must come of it.
type step struct {
	line    string
	want    Effect
	refused string // a part of the reason
}

// play admits and applies lines one after the other, a minute apart.
func play(t *testing.T, steps ...step) *Ledgers {
	t.Helper()
	var l Ledgers
	a := NewAdmission(l, nil)
	for i, s := range steps {
		r := parse(t, s.line)
		got, err := a.Admit(r, from, at(i))
		switch {
		case got != s.want:
			t.Fatalf("%s: effect %d, want %d (%v)", s.line, got, s.want, err)
		case (err != nil) != (s.refused != "") || err != nil && !strings.Contains(err.Error(), s.refused):
			t.Fatalf("%s: refused with %v, want %q", s.line, err, s.refused)
		case got != Unchanged:
			l.Apply(r, from, at(i))
		}
	}
	if diff := cmp.Diff(a.ledgers, l); diff != "" {
		t.Errorf("the admission has other ledgers (-admission +ledgers):\n%s", diff)
	}
	return &l
}

// TestMessages: a message needs a body, keeps what a later report leaves out, and does not
// change once it is done.
func TestMessages(t *testing.T) {
	t.Parallel()
	l := play(t,
		step{line: `{"type":"message","id":"M1","to":"b"}`, refused: "needs a body"},
		step{line: `{"type":"message","id":"M1","to":"b","body":"look"}`, want: Changed},
		step{line: `{"type":"message","id":"M1","to":"b","body":"look"}`},
		step{line: `{"type":"message","id":"M1","status":"awaiting"}`, want: Changed},
		step{line: `{"type":"message","id":"M2","body":"later"}`, want: Changed},
		step{line: `{"type":"message","id":"M1","status":"done","response":"fine"}`, want: Changed},
		step{line: `{"type":"message","id":"M1","status":"done"}`},
		step{line: `{"type":"message","id":"M1","status":"pending"}`, refused: "is done since"},
	)
	want := Message{From: "WS1", To: "b", Status: Done, Body: "look", Response: "fine", At: at(1), Changed: at(5)}
	if diff := cmp.Diff(want, l.Messages["M1"]); diff != "" {
		t.Errorf("M1 (-want +got):\n%s", diff)
	}
	if got := l.MessagesWith(Pending); !cmp.Equal(got, []string{"M2"}) {
		t.Errorf("pending are %v", got)
	}
	if got := l.MessagesWith(Awaiting); len(got) > 0 {
		t.Errorf("awaiting are %v", got)
	}
}

// TestConflicts: a conflict starts and is resolved once, and needs parties.
func TestConflicts(t *testing.T) {
	t.Parallel()
	l := play(t,
		step{line: `{"type":"conflict","id":"C1","status":"resolved"}`, refused: "no conflict C1"},
		step{line: `{"type":"conflict","id":"C1","status":"start"}`, refused: "parties"},
		step{line: `{"type":"conflict","id":"C1","status":"start","parties":["a","b"],"reason":"names"}`, want: ConflictStarted},
		step{line: `{"type":"conflict","id":"C1","status":"start","parties":["a","b"],"reason":"names"}`},
		step{line: `{"type":"conflict","id":"C1","status":"start","state":"a insists"}`, want: Changed},
		step{line: `{"type":"conflict","id":"C2","status":"start","parties":["c"]}`, want: ConflictStarted},
		step{line: `{"type":"conflict","id":"C1","status":"resolved","reason":"short ones"}`, want: ConflictResolved},
		step{line: `{"type":"conflict","id":"C1","status":"resolved"}`},
		step{line: `{"type":"conflict","id":"C1","status":"start","parties":["a"]}`, refused: "was resolved at"},
	)
	end := at(6)
	want := Conflict{From: "WS1", Parties: []string{"a", "b"}, Reason: "names", State: "a insists", Resolution: "short ones", StartedAt: at(2), ResolvedAt: &end}
	if diff := cmp.Diff(want, l.Conflicts["C1"]); diff != "" {
		t.Errorf("C1 (-want +got):\n%s", diff)
	}
	if got := l.OpenConflicts(); !cmp.Equal(got, []string{"C2"}) {
		t.Errorf("open are %v", got)
	}
}

// TestKnowledgeIsCapturedOnce: a second capture of the same entry is refused, also in
// ledgers that went back to before it.
func TestKnowledgeIsCapturedOnce(t *testing.T) {
	t.Parallel()
	l := play(t,
		step{line: `{"type":"knowledge","id":"K1","status":"pending"}`, want: Changed},
		step{line: `{"type":"knowledge","id":"K1","status":"pending"}`},
		step{line: `{"type":"knowledge","id":"K1","status":"captured"}`, want: Changed},
		step{line: `{"type":"knowledge","id":"K1","status":"captured"}`, refused: "was captured by WS1 at 2026-01-02T03:02:00Z"},
		step{line: `{"type":"knowledge","id":"K1","status":"pending"}`, refused: "must not be captured twice"},
		step{line: `{"type":"knowledge","id":"K1","status":"injected"}`, want: Changed},
		step{line: `{"type":"knowledge","id":"K2","status":"injected"}`, want: Changed},
		step{line: `{"type":"knowledge","id":"K3","status":"pending"}`, want: Changed},
	)
	for status, want := range map[Status][]string{Injected: {"K1", "K2"}, Captured: {"K1"}, Pending: {"K3"}} {
		if got := l.KnowledgeWith(status); !cmp.Equal(got, want) {
			t.Errorf("%s are %v, want %v", status, got, want)
		}
	}
	var earlier Ledgers
	earlier.Apply(parse(t, `{"type":"knowledge","id":"K1","status":"pending"}`), from, at(0))
	earlier.KeepCaptures(*l)
	var captured *CapturedError
	_, err := NewAdmission(earlier, nil).Admit(parse(t, `{"type":"knowledge","id":"K1","status":"captured"}`), from, at(9))
	if !errors.As(err, &captured) {
		t.Errorf("after going back it is %v", err)
	}
	if got := earlier.KnowledgeWith(Pending); len(got) > 0 {
		t.Errorf("after going back, %v are still to be captured", got)
	}
	if _, has := earlier.Knowledge["K2"]; has {
		t.Error("what was injected later is kept")
	}
}

// TestValues: a key is set, changed and removed; what is not a string is kept as JSON.
func TestValues(t *testing.T) {
	t.Parallel()
	l := play(t,
		step{line: `{"type":"state","key":"a","unset":true}`},
		step{line: `{"type":"state","key":"a","value":"1"}`, want: Changed},
		step{line: `{"type":"state","key":"a","value":1}`},
		step{line: `{"type":"state","key":"b","value":{"x": [1, 2]}}`, want: Changed},
		step{line: `{"type":"state","key":"n","value":null}`, want: Changed},
		step{line: `{"type":"state","key":"gone","value":""}`, want: Changed},
		step{line: `{"type":"state","key":"gone","unset":true}`, want: Changed},
		step{line: `{"type":"state","key":"a","value":"2"}`, want: Changed},
	)
	want := map[string]Value{
		"a": {Value: "2", From: "WS1", At: at(7)}, "b": {Value: `{"x":[1,2]}`, From: "WS1", At: at(3)}, "n": {Value: "null", From: "WS1", At: at(4)},
	}
	if diff := cmp.Diff(want, l.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// TestNotesAreKeptOnce: a retry that reports the same note again adds nothing.
func TestNotesAreKeptOnce(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"type":"note","kind":"key_fix","file":"a.go","change":"checks the length"}`)
	a := NewAdmission(Ledgers{}, []Note{{Kind: NoteKeyFix, File: "b.go", Change: "checks the length"}})
	for i, want := range []Effect{Changed, Unchanged} {
		if got, err := a.Admit(r, from, at(i)); got != want || err != nil {
			t.Errorf("report %d: effect %d, %v", i, got, err)
		}
	}
}

// TestCleanupsAreKeptOnce: a session keeps a cleanup as one text, with the file in it.
func TestCleanupsAreKeptOnce(t *testing.T) {
	t.Parallel()
	a := NewAdmission(Ledgers{}, []Note{{Kind: NoteCleanup, Change: CleanupText("a.go", "removed it")}})
	for line, want := range map[string]Effect{
		`{"type":"note","kind":"cleanup","file":"a.go","change":"removed it"}`: Unchanged,
		`{"type":"note","kind":"cleanup","file":"b.go","change":"removed it"}`: Changed,
		`{"type":"note","kind":"cleanup","change":"removed it"}`:               Changed,
	} {
		if got, err := a.Admit(parse(t, line), from, at(1)); got != want || err != nil {
			t.Errorf("%s: effect %d, want %d, error %v", line, got, want, err)
		}
	}
}

// TestLedgersAreBounded: what would exceed the limit is refused, and something that is
// removed makes room.
func TestLedgersAreBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 60<<10)
	a := NewAdmission(Ledgers{}, nil)
	admit := func(key, value string) error {
		_, err := a.Admit(Report{Type: TypeState, Key: key, Value: value, Unset: value == ""}, from, at(0))
		return err
	}
	n := 0
	for ; admit(strings.Repeat("k", n+1), big) == nil; n++ {
		if n > MaxSize/len(big) {
			t.Fatal("nothing is refused")
		}
	}
	if n < MaxSize/len(big)-1 {
		t.Errorf("only %d values of %d bytes are kept", n, len(big))
	}
	for _, line := range []string{
		`{"type":"message","id":"M","body":"` + big + `"}`, `{"type":"conflict","id":"C","status":"start","parties":["a"],"reason":"` + big + `"}`,
		`{"type":"note","kind":"cleanup","change":"` + big + `"}`,
	} {
		if _, err := a.Admit(parse(t, line), from, at(0)); err == nil || !strings.Contains(err.Error(), "keeps no more") {
			t.Errorf("%.40s…: %v", line, err)
		}
	}
	if _, err := a.Admit(parse(t, `{"type":"metric","name":"m","value":1}`), from, at(0)); err != nil {
		t.Errorf("a metric, which is not kept here, is refused: %v", err)
	}
	if err := admit("k", ""); err != nil {
		t.Fatal(err)
	}
	if err := admit("another", big); err != nil {
		t.Errorf("what was removed makes no room: %v", err)
	}
	again := NewAdmission(a.ledgers, nil)
	if again.size != a.size {
		t.Errorf("the size is %d, and %d when it is counted anew", a.size, again.size)
	}
}

// TestChangedMessageTakesItsOwnRoom: a message that is changed often does not use up the
// limit.
func TestChangedMessageTakesItsOwnRoom(t *testing.T) {
	t.Parallel()
	a := NewAdmission(Ledgers{}, nil)
	for i := range 2 * MaxSize / (60 << 10) {
		body := strings.Repeat(string('a'+rune(i%2)), 60<<10)
		if _, err := a.Admit(parse(t, `{"type":"message","id":"M","body":"`+body+`"}`), from, at(0)); err != nil {
			t.Fatalf("change %d is refused: %v", i, err)
		}
	}
}

// TestClone: a copy does not change with its original.
func TestClone(t *testing.T) {
	t.Parallel()
	l := play(t,
		step{line: `{"type":"message","id":"M1","body":"look"}`, want: Changed},
		step{line: `{"type":"conflict","id":"C1","status":"start","parties":["a"]}`, want: ConflictStarted},
		step{line: `{"type":"knowledge","id":"K1","status":"injected"}`, want: Changed},
		step{line: `{"type":"state","key":"a","value":"1"}`, want: Changed},
	)
	had := l.Clone()
	for _, line := range []string{
		`{"type":"message","id":"M1","status":"done"}`, `{"type":"conflict","id":"C1","status":"resolved"}`,
		`{"type":"knowledge","id":"K1","status":"captured"}`, `{"type":"state","key":"a","unset":true}`,
	} {
		l.Apply(parse(t, line), from, at(9))
	}
	if had.Messages["M1"].Status != Pending || had.Conflicts["C1"].ResolvedAt != nil || had.Knowledge["K1"].CapturedAt != nil || had.Values["a"].Value != "1" {
		t.Errorf("the copy is %+v", had)
	}
	if had.IsZero() || !new(Ledgers).IsZero() {
		t.Error("only empty ledgers are zero")
	}
}
