package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse: a line is read with the fields of its type.
func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Report{
		`{"type":"note","kind":"eslint_fix","file":"a.ts","change":"no any"}`:                         {Type: TypeNote, Kind: NoteESLintFix, File: "a.ts", Change: "no any"},
		`{"type":"note","kind":"cleanup","change":"removed dist"}`:                                    {Type: TypeNote, Kind: NoteCleanup, Change: "removed dist"},
		`{"type":"message","id":"M1","to":"b","status":"awaiting","body":"x","response":"y"}`:         {Type: TypeMessage, ID: "M1", To: "b", Status: Awaiting, Body: "x", Response: "y"},
		`{"type":"conflict","id":"C1","status":"start","parties":["a","b"],"reason":"r","state":"s"}`: {Type: TypeConflict, ID: "C1", Status: Start, Parties: []string{"a", "b"}, Reason: "r", State: "s"},
		`{"type":"knowledge","id":"K1","status":"captured","ack":"0a-1f"}`:                            {Type: TypeKnowledge, ID: "K1", Status: Captured, Ack: "0a-1f"},
		`{"type":"metric","name":"coverage","value":9007199254740993.5}`:                              {Type: TypeMetric, Name: "coverage", Value: json.Number("9007199254740993.5")},
		`{"type":"metric","name":"ok","value":false}`:                                                 {Type: TypeMetric, Name: "ok", Value: false},
		`{"type":"output","name":"image","value":"app:1"}`:                                            {Type: TypeOutput, Name: "image", Value: "app:1"},
		`{"type":"output","name":"port","value": 8080}`:                                               {Type: TypeOutput, Name: "port", Value: "8080"},
		`{"type":"state","key":"a/b","value":[1, "x"]}`:                                               {Type: TypeState, Key: "a/b", Value: `[1,"x"]`},
		`{"type":"state","key":"a/b","unset":true}`:                                                   {Type: TypeState, Key: "a/b", Unset: true},
		` {"type":"checkpoint","reason":"half"} `:                                                     {Type: TypeCheckpoint, Reason: "half"},
	} {
		got, err := Parse([]byte(line))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
		}
		again, err := got.Line()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Parse(again); err != nil || !cmp.Equal(back, got) {
			t.Errorf("%s is written as %s, which is read as %+v, %v", line, again, back, err)
		}
	}
}

// TestParseRefuses: a line that is wrong is refused, and the reason names what is wrong.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		``:                 "not a JSON object",
		`null`:             `"" is no type of report`,
		`[]`:               "not a JSON object",
		`{"kind":"x"}`:     `"" is no type of report; it is one of: note, message, conflict`,
		`{"type":"notes"}`: `"notes" is no type`,
		`{"type":1}`:       `"type" cannot be a number`,
		`{"type":"note","kind":"fix","change":"x"}`:                                        `"fix" is no kind; it is one of: eslint_fix, key_fix, cleanup`,
		`{"type":"note","kind":"cleanup"}`:                                                 `note: "change" is missing`,
		`{"type":"note","kind":"cleanup","change":""}`:                                     `"change" is missing`,
		`{"type":"note","kind":"cleanup","change":null}`:                                   `"change" is missing`,
		`{"type":"note","kind":"cleanup","change":"x","line":3}`:                           `note: it has no field "line"; its fields are: kind, change, file`,
		`{"type":"message","id":"M","status":"start"}`:                                     `"start" is no status; it is one of: pending, awaiting, done`,
		`{"type":"conflict","id":"C"}`:                                                     `"status" is missing`,
		`{"type":"conflict","id":"C","status":"open"}`:                                     `one of: start, resolved`,
		`{"type":"conflict","id":"C","status":"start","parties":["a\u0007"]}`:              `"parties" contains a control character`,
		`{"type":"knowledge","id":"` + strings.Repeat("k", 257) + `","status":"injected"}`: `"id" is longer than 256 bytes`,
		`{"type":"knowledge","id":"a\nb","status":"injected"}`:                             `"id" contains a control character`,
		`{"type":"metric","name":"9","value":1}`:                                           `"9" is not a name`,
		`{"type":"metric","name":"m"}`:                                                     `"value" is missing`,
		`{"type":"metric","name":"m","value":[1]}`:                                         `a number, a boolean or a text`,
		`{"type":"output","name":"a.b","value":"x"}`:                                       `"a.b" is not a name`,
		`{"type":"state","key":"k"}`:                                                       `either "value" or "unset"`,
		`{"type":"state","key":"k","value":"x","unset":true}`:                              `either "value" or "unset"`,
		`{"type":"state","value":"x"}`:                                                     `"key" is missing`,
		`{"type":"checkpoint","ack":"../x"}`:                                               `"ack" may only have the characters`,
		"{\"type\":\"checkpoint\",\"reason\":\"\xff\"}":                                    "not UTF-8",
		`{"type":"checkpoint","reason":"` + strings.Repeat("x", MaxLine) + `"}`:            "longer than 64 KiB",
	} {
		if _, err := Parse([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", line, err, want)
		}
	}
	if _, err := (Report{Type: TypeCheckpoint, Reason: Text(strings.Repeat("x", MaxLine))}).Line(); err == nil {
		t.Error("a report that is too long is written")
	}
}

// TestEveryTypeHasARule: Types lists exactly the types that Parse knows.
func TestEveryTypeHasARule(t *testing.T) {
	t.Parallel()
	for _, typ := range Types() {
		if _, known := ruleOf(typ); !known {
			t.Errorf("%s has no rule", typ)
		}
	}
}

// FuzzReportLine: no line makes the parser crash, and what it accepts can be written and read
// again.
func FuzzReportLine(f *testing.F) {
	f.Add([]byte(`{"type":"state","key":"k","value":{"a":[1,null]}}`))
	f.Add([]byte(`{"type":"note","kind":"cleanup","change":{"base64":"/w=="}}`))
	f.Add([]byte(`{"type":"note","kind":"cleanup","change":{"base":"/w=="}}`))
	f.Add([]byte(`{"type":"metric","name":"m","value":1e400,"ack":"a"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := Parse(line)
		if err != nil {
			return
		}
		again, err := r.Line()
		if err != nil {
			return // escaping made it too long
		}
		back, err := Parse(again)
		if err != nil || !cmp.Equal(back, r) {
			t.Errorf("%q is read as %+v, and %q as %+v, %v", line, r, again, back, err)
		}
	})
}
