package state_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
)

func TestCheckInputs(t *testing.T) {
	t.Parallel()
	short := state.Text("short")
	asked := []state.AskedInput{
		{Name: "feedback", Type: state.InputString, Description: "what to change"},
		{Name: "style", Type: state.InputString, Options: []state.Text{"short", "long"}, Default: &short},
		{Name: "pages", Type: state.InputNumber},
		{Name: "sure", Type: state.InputBool},
	}
	type texts = map[string]state.Text
	full := func(name string, value state.Text) texts {
		all := texts{"feedback": "x", "pages": "3", "sure": "true"}
		all[name] = value
		return all
	}
	for name, tt := range map[string]struct {
		given   texts
		rejects bool
		want    texts
		errs    []string
	}{
		"all":                        {given: full("style", "long"), want: full("style", "long")},
		"a default":                  {given: full("feedback", ""), want: texts{"feedback": "", "style": "short", "pages": "3", "sure": "true"}},
		"nothing, for a rejection":   {rejects: true},
		"some, for a rejection":      {given: texts{"pages": "3"}, rejects: true, want: texts{"pages": "3"}},
		"nothing":                    {errs: []string{"must give the input feedback (what to change): --input feedback=TEXT", "pages: --input pages=NUMBER", "sure: --input sure=true|false"}},
		"unknown":                    {given: full("stile", "long"), errs: []string{`no input "stile"; it has: feedback, style, pages, sure`}},
		"unknown, for a rejection":   {given: texts{"stile": "long"}, rejects: true, errs: []string{`no input "stile"`}},
		"no option":                  {given: full("style", "wide"), errs: []string{`style cannot be "wide"; it is one of: short, long`}},
		"no number":                  {given: full("pages", "few"), errs: []string{`pages is a number`}},
		"a number in hexadecimal":    {given: full("pages", "0x10"), errs: []string{`pages is a number`}},
		"a number that is too large": {given: full("pages", "1e1000"), errs: []string{`pages is a number`}},
		"a negative number":          {given: full("pages", "-1.50e-3"), want: texts{"feedback": "x", "style": "short", "pages": "-1.50e-3", "sure": "true"}},
		"no boolean":                 {given: full("sure", "yes"), errs: []string{`sure is true or false, and cannot be "yes"`}},
		"a placeholder":              {given: full("feedback", "TEXT"), errs: []string{"TEXT is the place of your text in a suggested command"}},
		"a NUL byte":                 {given: full("feedback", "a\x00b"), errs: []string{"feedback: the value holds a NUL byte"}},
		"too long":                   {given: full("feedback", state.Text(strings.Repeat("x", state.MaxInput+1))), errs: []string{"feedback: the value is longer than 64 KiB"}},
	} {
		got, err := state.CheckInputs(asked, tt.given, !tt.rejects)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (len(tt.errs) > 0) {
			t.Errorf("%s: %v; -want +got:\n%s", name, err, diff)
			continue
		}
		for _, text := range tt.errs {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %q", name, err, text)
			}
		}
	}
	if _, err := state.CheckInputs(nil, texts{"x": "y"}, true); err == nil || !strings.Contains(err.Error(), "it has: none") {
		t.Errorf("a gate without inputs takes one: %v", err)
	}
}
