package review

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
)

// TestParse: findings are a list, an object with one, or SARIF.
func TestParse(t *testing.T) {
	t.Parallel()
	const sarif = `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"scan","rules":[
		{"id":"R1","properties":{"security-severity":"9"}},{"id":"R2","properties":{"security-severity":"4"}},
		{"id":"R3","defaultConfiguration":{"level":"error"}}]}},"results":[
		{"ruleId":"R1","message":{"text":"injection"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},"region":{"startLine":3}}}]},
		{"ruleId":"R2","message":{"text":"weak"},"locations":[null,{}]},
		{"ruleId":"R3","message":{"text":"wrong"}},
		{"ruleId":"R4","level":"note","message":{"text":"a hint"}},
		{"ruleId":"R5","message":{"text":"a warning"}},
		{"ruleId":"R8","properties":{"security-severity":7},"message":{"text":"high"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///src/a%20b.go"}}}]},
		{"ruleId":"R6","kind":"pass","message":{"text":"fine"}},
		{"ruleId":"R7","message":{"text":"accepted"},"suppressions":[{"kind":"external"}]}]}]}`
	for name, c := range map[string]struct {
		text string
		want []state.Finding
	}{
		"none":   {text: " []\n", want: []state.Finding{}},
		"list":   {text: `[{"severity":"p0","title":"a","file":"b.go","line":3,"detail":"d","command":["test","-e","x"]}]`, want: []state.Finding{{Severity: state.P0, Title: "a", File: "b.go", Line: 3, Detail: "d", Command: []string{"test", "-e", "x"}}}},
		"object": {text: `{"by":"someone","findings":[{"severity":"p3","title":"a","command":"make check","else":1}]}`, want: []state.Finding{{Severity: state.P3, Title: "a", Script: "make check"}}},
		"SARIF": {text: sarif, want: []state.Finding{
			{Severity: state.P0, Title: "injection", File: "a.go", Line: 3, Detail: "R1"}, {Severity: state.P2, Title: "weak", Detail: "R2"},
			{Severity: state.P1, Title: "wrong", Detail: "R3"}, {Severity: state.P3, Title: "a hint", Detail: "R4"}, {Severity: state.P2, Title: "a warning", Detail: "R5"},
			{Severity: state.P1, Title: "high", File: "/src/a b.go", Detail: "R8"},
		}},
	} {
		got, err := Parse([]byte(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestParseRefuses: what is wrong is named, with its line.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ParseError{
		"":                      {Message: "not JSON"},
		"{\n\"findings\" 1}":    {Line: 2, Message: "not JSON"},
		"{}":                    {Message: "neither a list"},
		"3":                     {Message: "there is neither a list of findings nor"},
		"{\"findings\":null}":   {Line: 1, Message: `"findings" is null, and must be a list`},
		"{\"findings\": \"a\"}": {Line: 1, Message: `"findings" is a text, and must be a list`},
		"[\n{\"severity\":\"p0\",\"title\":\"x\"},\n{\"severity\":\"P0\",\"title\":\"x\"}]": {Line: 3, Message: `finding 2: "P0" is no severity`},
		"[\n\n{\"severity\":\"p0\"}]":                                        {Line: 3, Message: `"title" is missing`},
		"[{\"severity\":\"p0\",\"title\":\"x\",\"line\":-1}]":                {Line: 1, Message: "negative"},
		"[{\"severity\":\"p0\",\"title\":\"x\",\"line\":\"3\"}]":             {Line: 1, Message: `"line" of a finding is a text, and must be a whole number`},
		"[{\"severity\":\"p0\",\"title\":\"x\",\"command\":[]}]":             {Line: 1, Message: `"command" is a list`},
		"[{\"severity\":\"p0\",\"title\":\"x\",\"command\":{}}]":             {Line: 1, Message: `"command" is a list`},
		"[{\"severity\":\"p0\",\"title\":\"x\",\"command\":\" \"}]":          {Line: 1, Message: `"command" is a list`},
		"[{\"severity\":\"p0\",\"title\":\"x\",\"command\":[\"a\\u0000\"]}]": {Line: 1, Message: "NUL"},
		"[1]":                                    {Line: 1, Message: "a finding is a number, and must be an object"},
		"[{\"severity\":\"p0\",\"title\":\"x\"}": {Message: "not JSON"},
		"[" + strings.Repeat(`{"severity":"p3","title":"x"},`, MaxFindings) + `{"severity":"p3","title":"x"}]`: {Message: "there are 1001 findings"},
	} {
		_, err := Parse([]byte(text))
		var got *ParseError
		if !errors.As(err, &got) || !strings.Contains(got.Message, want.Message) || got.Line != want.Line && want.Line > 0 {
			t.Errorf("%.60q: %+v, want %+v", text, got, want)
		}
	}
}

// TestJudge: the verdict follows from the worst severities, and the rules can be set.
func TestJudge(t *testing.T) {
	t.Parallel()
	usual := Rules{DoNotShip: []state.Severity{state.P0}, ShipWithGates: []state.Severity{state.P1}}
	f := func(severities ...state.Severity) []state.Finding {
		var all []state.Finding
		for _, s := range severities {
			all = append(all, state.Finding{Severity: s, Title: state.Text(s)})
		}
		return all
	}
	for name, c := range map[string]struct {
		findings []state.Finding
		rules    Rules
		want     Judgement
	}{
		"none":             {rules: usual, want: Judgement{Verdict: state.VerdictShip}},
		"minor ones":       {findings: f(state.P2, state.P3), rules: usual, want: Judgement{Verdict: state.VerdictShip}},
		"a p1":             {findings: f(state.P3, state.P1, state.P1), rules: usual, want: Judgement{Verdict: state.VerdictShipWithGates, P1: 2, Gated: f(state.P1, state.P1)}},
		"a p0":             {findings: f(state.P1, state.P0), rules: usual, want: Judgement{Verdict: state.VerdictDoNotShip, P0: 1, P1: 1, Blocker: f(state.P0)}},
		"stricter rules":   {findings: f(state.P2), rules: Rules{DoNotShip: []state.Severity{state.P0, state.P1, state.P2}}, want: Judgement{Verdict: state.VerdictDoNotShip, Blocker: f(state.P2)}},
		"nothing prevents": {findings: f(state.P0), rules: Rules{}, want: Judgement{Verdict: state.VerdictShip, P0: 1}},
	} {
		if diff := cmp.Diff(c.want, Judge(c.findings, c.rules)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzFindings: no file of findings makes the parser crash.
func FuzzFindings(f *testing.F) {
	f.Add([]byte(`[{"severity":"p0","title":"a","command":["x"]}]`))
	f.Add([]byte(`{"findings":[{"severity":"p1","title":"a","command":"x"}]}`))
	f.Add([]byte(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"s","rules":[null]}},"results":[null,{"message":{}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Parse(data)
		if err != nil {
			return
		}
		for _, finding := range all {
			if finding.Title == "" || finding.Severity == "" || finding.Line < 0 {
				t.Errorf("%q gives %+v", data, finding)
			}
		}
	})
}
