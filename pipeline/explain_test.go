package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDifferencesHideWhatBecameSensitive: a difference shows no text if the value before
// or after the change is sensitive.
func TestDifferencesHideWhatBecameSensitive(t *testing.T) {
	t.Parallel()
	plain := []part{{name: "command[0]", text: "deploy"}, {name: "env.MODE", text: "fast"}, {name: "env.TOKEN", text: "s3cr3t"}}
	sensitive := []part{{name: "command[0]", text: "deploy"}, {name: "env", text: hiddenText + "tokens"}}
	for name, test := range map[string]struct {
		was, is []part
		want    []Difference
	}{
		"plain, then sensitive":      {plain, sensitive, []Difference{{Name: "env"}}},
		"sensitive, then plain":      {sensitive, plain, []Difference{{Name: "env"}}},
		"sensitive, and as it was":   {sensitive, sensitive, nil},
		"sensitive, and another one": {sensitive, []part{{name: "command[0]", text: "deploy"}, {name: "env", text: hiddenText + "others"}}, []Difference{{Name: "env"}}},
		"plain": {plain, []part{{name: "command[0]", text: "deploy"}, {name: "env.MODE", text: "slow"}, {name: "env.TOKEN", text: "s3cr3t"}},
			[]Difference{{Name: "env.MODE", Old: `"fast"`, New: `"slow"`}}},
		"a script that becomes sensitive": {[]part{{name: "script line 1", text: "echo s3cr3t"}}, []part{{name: "script", text: hiddenText + "tokens"}}, []Difference{{Name: "script"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, differences(test.was, test.is)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDifferencesOfLists: if an element is added to a list or removed, only that element
// is a difference, and not the elements after it.
func TestDifferencesOfLists(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was, is []string
		want    []Difference
	}{
		"put in":               {[]string{"a", "b"}, []string{"a", "x", "b"}, []Difference{{Name: "command[1]", New: `"x"`}}},
		"put in front":         {[]string{"a", "b"}, []string{"x", "a", "b"}, []Difference{{Name: "command[0]", New: `"x"`}}},
		"put in at the end":    {[]string{"a", "b"}, []string{"a", "b", "x"}, []Difference{{Name: "command[2]", New: `"x"`}}},
		"one more of the same": {[]string{"a", "a"}, []string{"a", "a", "a"}, []Difference{{Name: "command[2]", New: `"a"`}}},
		"taken out":            {[]string{"a", "x", "b"}, []string{"a", "b"}, []Difference{{Name: "command[1]", Old: `"x"`}}},
		"another one":          {[]string{"a", "x", "b"}, []string{"a", "y", "b"}, []Difference{{Name: "command[1]", Old: `"x"`, New: `"y"`}}},
		"all":                  {nil, []string{"a"}, []Difference{{Name: "command[0]", New: `"a"`}}},
		"nothing":              {[]string{"a", "b"}, []string{"a", "b"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			around := func(list []string) []part {
				return append(append([]part{{name: "dir", text: "a"}}, indexed("command", list)...), part{name: "effect", text: "pure"})
			}
			if diff := cmp.Diff(test.want, differences(around(test.was), around(test.is))); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
