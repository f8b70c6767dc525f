package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDifferencesHideWhatBecameSensitive: a value that was written in plain text, and is a
// sensitive variable now, is a secret all the same; so is what a sensitive one became.
func TestDifferencesHideWhatBecameSensitive(t *testing.T) {
	t.Parallel()
	plain := []part{{"command[0]", "deploy"}, {"env.MODE", "fast"}, {"env.TOKEN", "s3cr3t"}}
	sensitive := []part{{"command[0]", "deploy"}, {"env", hiddenText + "tokens"}}
	for name, test := range map[string]struct {
		was, is []part
		want    []Difference
	}{
		"plain, then sensitive":      {plain, sensitive, []Difference{{Name: "env"}}},
		"sensitive, then plain":      {sensitive, plain, []Difference{{Name: "env"}}},
		"sensitive, and as it was":   {sensitive, sensitive, nil},
		"sensitive, and another one": {sensitive, []part{{"command[0]", "deploy"}, {"env", hiddenText + "others"}}, []Difference{{Name: "env"}}},
		"plain": {plain, []part{{"command[0]", "deploy"}, {"env.MODE", "slow"}, {"env.TOKEN", "s3cr3t"}},
			[]Difference{{Name: "env.MODE", Old: `"fast"`, New: `"slow"`}}},
		"a script that becomes sensitive": {[]part{{"script line 1", "echo s3cr3t"}}, []part{{"script", hiddenText + "tokens"}}, []Difference{{Name: "script"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, differences(test.was, test.is)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
