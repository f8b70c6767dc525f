package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestMistakes holds the message for each mistake in a file, with its line.
func TestMistakes(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder // a few lines that stand for more keys than fit in memory
	bomb.WriteString("k0: &k0 {a: 1}\n")
	for i := range 40 {
		fmt.Fprintf(&bomb, "k%[2]d: &k%[2]d {a: *k%[1]d, b: *k%[1]d}\n", i, i+1)
	}
	const number = "must be a whole number from 0 to 2147483647, not "
	for _, test := range []struct{ name, text, want string }{
		{"runner.yaml", "", ""},
		{"runner.yaml", "checkpoint:\nparallel: 3\n", ""},
		{"runner.yaml", "a: &x {parallel: 3}\n", "runner.yaml:1: unknown key a\n  runner.yaml:1: unknown key a.parallel; did you mean parallel?"},
		{"runner.yaml", "a: &x {b: *x}\n", "runner.yaml: has more than 1000 keys, with those that its aliases stand for"},
		{"runner.yaml", bomb.String(), "runner.yaml: has more than 1000 keys"},
		{"runner.yaml", "workspace: {include: &x [*x]}\n", "runner.yaml:1: workspace.include must be a list of strings"},
		{"runner.yaml", "\nparallel: '3'\n", "runner.yaml:2: parallel " + number + `"3"`},
		{"runner.yaml", "parallel: -1\n", "runner.yaml:1: parallel " + number + "-1"},
		{"runner.yaml", "parallel: 2147483648\n", "runner.yaml:1: parallel " + number + "2147483648"},
		{"runner.yaml", "parallel: 2147483647\n", ""},
		{"runner.yaml", "parallel: [1]\n", "runner.yaml:1: parallel " + number + "a list"},
		{"runner.yaml", "parallel: {a: 1}\n", "runner.yaml:1: parallel " + number + "a table of keys\n  runner.yaml:1: unknown key parallel.a"},
		{"runner.yaml", "keep_going: 'true'\n", `runner.yaml:1: keep_going must be true or false, not "true"`},
		{"runner.yaml", "grace: 10\n", `runner.yaml:1: grace must be a duration such as "90s" or "168h", not 10`},
		{"runner.yaml", "grace: -1s\n", `runner.yaml:1: grace must be a duration such as "90s" or "168h", not "-1s"`},
		{"runner.yaml", "grace: 0s\n", ""},
		{"runner.yaml", "pipelines: 1\n", "runner.yaml:1: pipelines must be a string, not 1"},
		{"runner.yaml", "on_stale: never\n", `runner.yaml:1: on_stale must be ask, proceed or fail, not "never"`},
		{"runner.yaml", "workspace: {include: src}\n", `runner.yaml:1: workspace.include must be a list of strings, not "src"`},
		{"runner.yaml", "workspace: {include: [src, 1]}\n", "runner.yaml:1: workspace.include must be a list of strings, not a list"},
		{"runner.yaml", "workspace: {include: ['!src']}\n", `runner.yaml:1: workspace.include has "!src" first, which excludes files from the globs before it`},
		{"runner.yaml", "workspace: {include: [src, '!src/x']}\n", ""},
		{"runner.yaml", "workspace: {include: [src, '!src/[']}\n", `runner.yaml:1: workspace.include has "!src/[", which`},
		{"runner.yaml", "checkpoint: true\n", "runner.yaml:1: checkpoint holds other keys and takes no value itself"},
		{"runner.yaml", "checkpoint: {triggers: {start: false}}\n", "runner.yaml:1: checkpoint.triggers.start is no key: this checkpoint is always made"},
		{"runner.yaml", "checkpoint: {triggers: {starts: false}}\n", "runner.yaml:1: unknown key checkpoint.triggers.starts"},
		{"runner.yaml", "paralllel: 2\n", "runner.yaml:1: unknown key paralllel; did you mean parallel?"},
		{"runner.yaml", "max_age: 1h\n", "runner.yaml:1: unknown key max_age; did you mean checkpoint.retention.max_age?"},
		{"runner.yaml", "retention: {}\n", "runner.yaml:1: unknown key retention; did you mean checkpoint.retention?"},
		{"runner.yaml", "zzzzzz: 1\n", "runner.yaml:1: unknown key zzzzzz"},
		{"runner.yaml", "checkpoint: {storage: {url: 's3://x'}}\n", "runner.yaml:1: checkpoint.storage.url is set, but state in buckets"},
		{"runner.yaml", "checkpoint: {storage: {url: ''}}\n", ""},
		{"runner.yaml", "checkpoint: {storage: {location: ' '}}\n", "runner.yaml:1: checkpoint.storage.location must name a directory"},
		{"runner.yaml", "checkpoint: {storage: {location: 'a/{issue}'}}\n", ""},
		{"runner.yaml", "checkpoint: {storage: {location: 'a/{x}'}}\n", "runner.yaml:1: checkpoint.storage.location holds a placeholder that is not known"},
		{"runner.yaml", "checkpoint:\n  triggers: {workstream_complete: false}\n  checkpoint_triggers: {agent_complete: false}\n",
			"runner.yaml:3: checkpoint.checkpoint_triggers.agent_complete is set already at runner.yaml:2"},
		{"runner.yaml", "id_pattern: '['\n", "runner.yaml:1: id_pattern is not a regular expression"},
		{"runner.yaml", "a: 1\n---\nb: 2\n", "runner.yaml: must be one YAML document"},
		{"runner.yaml", "- a\n", "runner.yaml:1: must be a table of keys"},
		{"runner.yaml", "a: [\n", "runner.yaml:"},
		{"runner.toml", "[checkpoint]\nenabled = 1\n\n[workspace]\ninclude = 'x'\n",
			"runner.toml:2: checkpoint.enabled must be true or false, not 1\n  runner.toml:5: workspace.include must be a list of strings, not \"x\""},
		{"runner.toml", "checkpoint = {\n  enabled = 1 }\n", "runner.toml:1: "},
		{"runner.toml", "[checkpoint]\n[checkpoint.retention]\nmanual = -2\n", "runner.toml:3: checkpoint.retention.manual must be a whole number from -1 to"},
		{"runner.toml", "[[chekpoint]]\nx = 1\n", "runner.toml:1: unknown key chekpoint; did you mean checkpoint?"},
		{"runner.toml", "a = \n", "runner.toml:1: "},
		{"runner.json", "{\n\"grace\": 1.5,\n\"parallel\": \"x\"}", "runner.json:2: grace must be a duration such as \"90s\" or \"168h\", not \"1.5\"\n  runner.json:3: parallel " + number + `"x"`},
		{"runner.json", "{\"parallel\": 1,\n\"parallel\": 2}", "runner.json:2: parallel is set already at line 1"},
		{"runner.json", "{} {}", "runner.json:1: is not JSON: something follows the value"},
		{"runner.json", "[1]", "runner.json:1: must be an object"},
		{"runner.json", "{\n", "runner.json:1: is not JSON"},
	} {
		_, err := Load(in(t, map[string]string{test.name: test.text}))
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "the configuration has mistakes\n  ")
		}
		if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: %s\nwant %s", test.text, got, test.want)
		}
	}
}

// TestTexts: a variable or a flag has only text, which becomes the type of its key.
func TestTexts(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Int("parallel", 0, "")
	flags.Bool("keep-going", false, "")
	flags.String("pipelines", "", "") // no key's flag
	if err := flags.Parse([]string{"--parallel=7", "--pipelines=x"}); err != nil {
		t.Fatal(err)
	}
	from := in(t, map[string]string{"runner.yaml": "pause_at_gates: true\nid_pattern: A\n"},
		"PRDRUNNER_KEEP_GOING=true", "PRDRUNNER_PAUSE_AT_GATES=false", "PRDRUNNER_PARALLEL=3", "PRDRUNNER_WORKSPACE_INCLUDE=a,b",
		"PRDRUNNER_GRACE=", "PRDRUNNER_CHECKPOINT_TRIGGERS_AGENT_COMPLETE=false")
	from.Flags = flags
	cfg, err := Load(from)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Setting{}
	for _, s := range cfg.Settings() {
		got[s.Key] = s
	}
	for _, want := range []Setting{
		{"keep_going", true, "PRDRUNNER_KEEP_GOING"},
		{"pause_at_gates", false, "PRDRUNNER_PAUSE_AT_GATES"},
		{"parallel", 7, "--parallel"},
		{"workspace.include", []string{"a", "b"}, "PRDRUNNER_WORKSPACE_INCLUDE"},
		{"id_pattern", "A", "runner.yaml:2"},
		{"pipelines", "pipelines", "default"},
		{"checkpoint.triggers.workstream_complete", false, "PRDRUNNER_CHECKPOINT_TRIGGERS_AGENT_COMPLETE"},
	} {
		if diff := cmp.Diff(want, got[want.Key]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for assignment, want := range map[string]string{
		"PRDRUNNER_PARALLEL=x":     "PRDRUNNER_PARALLEL: parallel must be a whole number",
		"PRDRUNNER_KEEP_GOING=yes": "PRDRUNNER_KEEP_GOING: keep_going must be true or false",
		"PRDRUNNER_PARALLLEL=1":    "PRDRUNNER_PARALLLEL: is not a setting; did you mean PRDRUNNER_PARALLEL?",
		"PRDRUNNER_ZZZZZZ=":        "PRDRUNNER_ZZZZZZ: is not a setting",
	} {
		if _, err := Load(in(t, nil, assignment)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", assignment, err, want)
		}
	}
}

// TestOnConflictIsUnset: the engine tells a default from a choice.
func TestOnConflictIsUnset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "on_conflict: ask\n": "ask"} {
		cfg, err := Load(in(t, map[string]string{"runner.yaml": text}))
		if err != nil || string(cfg.OnConflict) != want {
			t.Errorf("%q: %q, want %q: %v", text, cfg.OnConflict, want, err)
		}
	}
}
