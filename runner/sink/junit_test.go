package sink_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/sink"
)

// element is an element of an XML document.
type element struct {
	name     string
	attr     map[string]string
	children []*element
	text     string // between the children
}

// rule is what the schema of Jenkins, junit-10.xsd of its plug-in xunit, allows an element to have.
type rule struct {
	must, may []string // attributes
	children  []string
	inOrder   bool // each of the children at most once, in this order
	mixed     bool // there may be text
}

func junitRules() map[string]rule {
	message := rule{may: []string{"type", "message"}, mixed: true}
	text := rule{mixed: true}
	rerun := rule{must: []string{"type"}, may: []string{"message"}, children: []string{"stackTrace", "system-out", "system-err"}, inOrder: true, mixed: true}
	return map[string]rule{
		"testsuites": {may: []string{"name", "time", "tests", "failures", "errors"}, children: []string{"testsuite"}},
		"testsuite": {
			must:     []string{"name", "tests", "failures", "errors"},
			may:      []string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
			children: []string{"testsuite", "properties", "testcase", "system-out", "system-err"},
		},
		"testcase": {
			must: []string{"name"}, may: []string{"time", "classname", "group"},
			children: []string{"skipped", "error", "failure", "rerunFailure", "rerunError", "flakyFailure", "flakyError", "system-out", "system-err"},
		},
		"properties": {children: []string{"property"}},
		"property":   {must: []string{"name", "value"}},
		"failure":    message, "error": message, "skipped": message,
		"rerunFailure": rerun, "rerunError": rerun, "flakyFailure": rerun, "flakyError": rerun,
		"system-out": text, "system-err": text, "stackTrace": text,
	}
}

// surefireTime is the type of the times of suites: digits in groups, and a fraction.
func surefireTime() *regexp.Regexp {
	return regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)
}

// parseXML returns the root element of a document.
func parseXML(t *testing.T, document string) *element {
	t.Helper()
	d, open := xml.NewDecoder(strings.NewReader(document)), []*element{{}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		within := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			within.children = append(within.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			within.text += string(token)
		}
	}
	if len(open[0].children) != 1 {
		t.Fatalf("%d root elements", len(open[0].children))
	}
	return open[0].children[0]
}

// violations returns what the rules forbid of an element and of all elements in it.
func violations(e *element) []string {
	var all []string
	complain := func(format string, args ...any) {
		all = append(all, fmt.Sprintf("<%s>: ", e.name)+fmt.Sprintf(format, args...))
	}
	r, known := junitRules()[e.name]
	if !known {
		complain("is unknown")
	}
	for _, name := range r.must {
		if _, has := e.attr[name]; !has {
			complain("has no %s", name)
		}
	}
	for name, value := range e.attr {
		if !slices.Contains(slices.Concat(r.must, r.may), name) {
			complain("has %s", name)
		}
		if name == "time" && strings.HasPrefix(e.name, "testsuite") && !surefireTime().MatchString(value) {
			complain("takes %s", value)
		}
	}
	if !r.mixed && strings.TrimSpace(e.text) != "" {
		complain("has the text %q", e.text)
	}
	last := -1
	for _, child := range e.children {
		at := slices.Index(r.children, child.name)
		switch {
		case at < 0:
			complain("has <%s>", child.name)
		case r.inOrder && at <= last:
			complain("has <%s> too late, or twice", child.name)
		}
		last = at
		all = append(all, violations(child)...)
	}
	return all
}

// count returns the number of elements that have a child of a name, or that have one if it is "".
func (e *element) count(name, child string) int {
	n := 0
	for _, c := range e.children {
		if c.name == name && (child == "" || slices.ContainsFunc(c.children, func(of *element) bool { return of.name == child })) {
			n++
		}
		n += c.count(name, child)
	}
	return n
}

// checkJUnit checks a file against the schema, and its counts against its cases.
func checkJUnit(t *testing.T, document string) *element {
	t.Helper()
	root := parseXML(t, document)
	for _, v := range violations(root) {
		t.Error(v)
	}
	for _, e := range append([]*element{root}, root.children...) {
		for attr, want := range map[string]int{"tests": e.count("testcase", ""), "failures": e.count("testcase", "failure"), "errors": e.count("testcase", "error"), "skipped": e.count("testcase", "skipped")} {
			if is, has := e.attr[attr]; has && is != strconv.Itoa(want) {
				t.Errorf("<%s name=%q> counts %s %s, and has %d", e.name, e.attr["name"], is, attr, want)
			}
		}
	}
	return root
}

// TestJUnitSchema checks what is written of runs against the schema: of one that failed in many ways,
// of one that has not ended, and of one with texts that are no XML.
func TestJUnitSchema(t *testing.T) {
	t.Parallel()
	hostile := "</system-out><x a=\"\x1b[1m]]>\x00\ufffe'&amp;"
	for name, run := range map[string]func(begin func(runner.Beginning), commit func(...state.Event), end func(runner.Ending)){
		"failed": func(begin func(runner.Beginning), commit func(...state.Event), end func(runner.Ending)) {
			begin(beginning())
			for _, c := range story() {
				commit(c.Events...)
			}
			end(ending())
		},
		"hostile": func(begin func(runner.Beginning), commit func(...state.Event), end func(runner.Ending)) {
			begin(runner.Beginning{PRD: hostile, Title: hostile})
			f := state.Failure{Workstream: hostile, Outcome: hostile, Message: state.Text(hostile), File: state.Text(hostile), Line: 1}
			commit(state.PhaseStarted{Phase: hostile}, state.WorkstreamStarted{Workstream: hostile, Attempt: 1}, state.WorkstreamAttemptFailed{Workstream: hostile, Attempt: 1, Error: f},
				state.WorkstreamStarted{Workstream: hostile, Attempt: 2}, state.WorkstreamFailed{Workstream: hostile, Error: f},
				state.WorkstreamStarted{Workstream: "b", Attempt: 1}, state.WorkstreamSkipped{Workstream: "b", Reason: state.Text(hostile)})
			end(runner.Ending{Status: state.StatusFailed, Failed: []state.Failure{f, {Message: state.Text(hostile)}}})
		},
	} {
		var written string
		s := sink.Hand(sink.JUnit, options(t), func(_ runner.Ending, text []byte) error {
			written = string(text)
			return nil
		})
		run(s.Begin, func(e ...state.Event) { s.Commit(state.Commit{Time: start(), Events: e}) }, s.End)
		must(t, s.Err())
		root := checkJUnit(t, written)
		if name == "failed" && (root.count("rerunFailure", "") == 0 || root.count("flakyFailure", "") == 0 || root.count("skipped", "") == 0) {
			t.Errorf("not all kinds of results were checked:\n%s", written)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", name, written)
		}
	}
}

// TestJUnitRules holds that the rules find what the schema forbids.
func TestJUnitRules(t *testing.T) {
	t.Parallel()
	const suite = `<testsuites><testsuite name="" tests="1" failures="0" errors="0"%s><testcase name="">%s</testcase></testsuite></testsuites>`
	for inner, want := range map[string]string{
		`<rerunFailure type=""><stackTrace/><system-out/></rerunFailure><system-out/><failure/>`: "",
		`<rerunFailure type=""><system-out/><stackTrace/></rerunFailure>`:                        "<rerunFailure>: has <stackTrace> too late, or twice",
		`<rerunFailure/>`:                  "<rerunFailure>: has no type",
		`<failure><stackTrace/></failure>`: "<failure>: has <stackTrace>",
		`text`:                             `<testcase>: has the text "text"`,
		`<skipped reason=""/>`:             "<skipped>: has reason",
		`<system-out><b/></system-out>`:    "<system-out>: has <b>; <b>: is unknown",
	} {
		got := strings.Join(violations(parseXML(t, fmt.Sprintf(suite, "", inner))), "; ")
		if got != want {
			t.Errorf("%s: %q, want %q", inner, got, want)
		}
	}
	if got := violations(parseXML(t, fmt.Sprintf(suite, ` time="1e9"`, ""))); len(got) != 1 {
		t.Errorf("of a time that is none: %q", got)
	}
}
