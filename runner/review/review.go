// Package review reads the findings of an adversarial review and reaches its verdict.
//
//	bytes → Parse → []state.Finding → Judge → Judgement
//
// Everything here is a pure function. Package plan decides whether a review runs, and
// package runner runs it and records what it came to. Begin with Parse.
package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
)

// MaxFindings bounds the findings of a review, and MaxSize the file that holds them.
const (
	MaxFindings = 1000
	MaxSize     = 16 << 20
)

// ParseError says what is wrong with findings, and in which line.
type ParseError struct {
	Line    int // 0: not known
	Message string
}

// Error implements error.
func (e *ParseError) Error() string { return e.Message }

// Parse reads findings: a JSON list, an object with the list in "findings", or SARIF.
func Parse(data []byte) ([]state.Finding, error) {
	var head struct {
		Runs     json.RawMessage `json:"runs"`
		Findings json.RawMessage `json:"findings"`
	}
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	var findings []state.Finding
	var err error
	switch {
	case bytes.HasPrefix(trimmed, []byte("[")):
		findings, err = parseList(data, trimmed)
	case json.Unmarshal(data, &head) == nil && head.Runs != nil:
		findings, err = parseSARIF(data)
	case head.Findings != nil:
		findings, err = parseList(data, head.Findings)
	default:
		if err := json.Unmarshal(data, &head); err != nil && !isOfWrongType(err) {
			return nil, located(data, err)
		}
		return nil, &ParseError{Message: `there is neither a list of findings nor an object with "findings" or, as in SARIF, "runs"`}
	}
	if err != nil {
		return nil, err
	}
	if len(findings) > MaxFindings {
		return nil, &ParseError{Message: fmt.Sprintf("there are %d findings, and at most %d are read", len(findings), MaxFindings)}
	}
	return findings, nil
}

// written is a finding as the file has it. A command is a list, or a text for a shell.
type written struct {
	Severity state.Severity  `json:"severity"`
	Title    string          `json:"title"`
	File     string          `json:"file"`
	Line     int             `json:"line"`
	Detail   string          `json:"detail"`
	Command  json.RawMessage `json:"command"`
}

// parseList reads a list of findings, which is a part of whole.
func parseList(whole, list []byte) ([]state.Finding, error) {
	offset := max(0, bytes.Index(whole, list))
	if is := notList(list); is != "" {
		return nil, &ParseError{Line: lineOf(whole, offset), Message: fmt.Sprintf(`"findings" is %s, and must be a list`, is)}
	}
	d := json.NewDecoder(bytes.NewReader(whole[offset : offset+len(list)]))
	if _, err := d.Token(); err != nil {
		return nil, located(whole, err)
	}
	findings := []state.Finding{}
	for d.More() {
		var w written
		begin := offset + int(d.InputOffset())
		if err := d.Decode(&w); err != nil {
			return nil, &ParseError{Line: lineOf(whole, begin), Message: plain(err)}
		}
		f, err := w.finding()
		if err != nil {
			return nil, &ParseError{Line: lineOf(whole, offset+int(d.InputOffset())-1), Message: fmt.Sprintf("finding %d: %v", len(findings)+1, err)}
		}
		findings = append(findings, f)
	}
	if _, err := d.Token(); err != nil {
		return nil, located(whole, err)
	}
	return findings, nil
}

// notList returns what a JSON value is, "" if it is a list.
func notList(value []byte) string {
	switch value[0] {
	case '[':
		return ""
	case '{':
		return "an object"
	case '"':
		return "a text"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}

func (w written) finding() (state.Finding, error) {
	f := state.Finding{Severity: w.Severity, Title: bounded(w.Title), File: bounded(w.File), Line: w.Line, Detail: bounded(w.Detail)}
	switch {
	case !slices.Contains(state.Severities(), w.Severity):
		return f, fmt.Errorf("%q is no severity; it is one of: p0, p1, p2, p3", w.Severity)
	case strings.TrimSpace(w.Title) == "":
		return f, errors.New(`"title" is missing`)
	case w.Line < 0:
		return f, fmt.Errorf("the line %d is negative", w.Line)
	}
	if len(w.Command) == 0 || string(w.Command) == "null" {
		return f, nil
	}
	var list []string
	var script string
	switch {
	case json.Unmarshal(w.Command, &list) == nil && len(list) > 0 && list[0] != "":
		f.Command = list
	case json.Unmarshal(w.Command, &script) == nil && strings.TrimSpace(script) != "":
		f.Script = script
	default:
		return f, errors.New(`"command" is a list of a program and its arguments, or a text for a shell`)
	}
	if slices.ContainsFunc(append(list, script), func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return f, errors.New(`"command" holds a NUL byte`)
	}
	return f, nil
}

// bounded cuts a text that is longer than anybody reads, since it is recorded.
func bounded(text string) state.Text {
	const most, mark = 4000, "…"
	if len(text) <= most {
		return state.Text(text)
	}
	return state.Text(strings.ToValidUTF8(text[:most], "") + mark)
}

// located adds the line to an error of encoding/json.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &ParseError{Line: lineOf(data, int(syntax.Offset)), Message: "they are not JSON: " + syntax.Error()}
	}
	return &ParseError{Message: plain(err)}
}

func isOfWrongType(err error) bool {
	var wrong *json.UnmarshalTypeError
	return errors.As(err, &wrong)
}

// plain returns an error of encoding/json without the names of types.
func plain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		kind, _, _ := strings.Cut(wrong.Value, " ")
		is := map[string]string{"array": "a list", "object": "an object", "string": "a text", "number": "a number", "bool": "true or false"}[kind]
		switch wrong.Field {
		case "":
			return fmt.Sprintf("a finding is %s, and must be an object", is)
		case "line":
			return fmt.Sprintf("%q of a finding is %s, and must be a whole number", wrong.Field, is)
		}
		return fmt.Sprintf("%q of a finding is %s, and must be a text", wrong.Field, is)
	}
	return "they are not JSON: " + err.Error()
}

func lineOf(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}

// Rules say which severities lead to which verdict.
type Rules struct {
	DoNotShip     []state.Severity
	ShipWithGates []state.Severity
}

// Judgement is what findings come to.
type Judgement struct {
	Verdict state.ReviewVerdict
	P0, P1  int
	Gated   []state.Finding // with ShipWithGates: those that become gates
	Blocker []state.Finding // with DoNotShip: those that say so
}

// Judge returns the verdict on findings. The rules say which severities block (do_not_ship)
// and which become gates (ship_with_gates). Blocking ones win. Without either, it is ship.
func Judge(findings []state.Finding, rules Rules) Judgement {
	j := Judgement{Verdict: state.VerdictShip}
	var gated []state.Finding
	for _, f := range findings {
		switch f.Severity {
		case state.P0:
			j.P0++
		case state.P1:
			j.P1++
		case state.P2, state.P3:
		}
		switch {
		case slices.Contains(rules.DoNotShip, f.Severity):
			j.Blocker = append(j.Blocker, f)
		case slices.Contains(rules.ShipWithGates, f.Severity):
			gated = append(gated, f)
		}
	}
	switch {
	case len(j.Blocker) > 0:
		j.Verdict = state.VerdictDoNotShip
	case len(gated) > 0:
		j.Verdict, j.Gated = state.VerdictShipWithGates, gated
	}
	return j
}
