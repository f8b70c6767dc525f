package load

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
)

const withPassword = "variable \"password\" {\n  sensitive = true\n  DEFAULT\n}\n"

// secret is a pipeline with a sensitive variable of the given default.
func secret(prd, defaultValue string) string {
	return strings.Replace(withPassword, "DEFAULT", defaultValue, 1) + pipelineOf(prd)
}

// TestKnownSecrets: sensitive values are known from the pipeline that the session ran and
// the environment; where they may exist and can't be known, that is an error.
func TestKnownSecrets(t *testing.T) {
	t.Parallel()
	given := func(name string) *state.State {
		return &state.State{PRD: "PRD-001", Pipeline: state.FileRef{Path: "PRD-001.hcl"}, Sensitive: []string{name}}
	}
	started := &state.State{PRD: "PRD-001", Pipeline: state.FileRef{Path: "gone.hcl"}, Phases: []*state.Phase{{Workstreams: []*state.Workstream{
		{Digest: state.Digest{Variables: map[string]string{"token": pipeline.SensitiveVariable, "plain": "sha256:x"}}},
	}}}}
	for name, test := range map[string]struct {
		files   map[string]string
		environ string
		ref     PipelineRef
		st      *state.State
		damaged error
		masked  string // what a masker makes of a text; "": there is none
		unknown []string
		file    string
	}{
		"no secrets":                {map[string]string{"PRD-001.hcl": pipelineOf("PRD-001")}, "", PipelineRef{PRD: "PRD-001"}, nil, nil, "my secret word", nil, ""},
		"a default":                 {map[string]string{"PRD-001.hcl": secret("PRD-001", `default = "secret"`)}, "", PipelineRef{PRD: "PRD-001"}, nil, nil, "my *** word", nil, ""},
		"in the environment":        {map[string]string{"PRD-001.hcl": secret("PRD-001", "")}, "PRDRUNNER_VAR_password=secret", PipelineRef{PRD: "PRD-001"}, given("password"), nil, "my *** word", nil, ""},
		"not given":                 {map[string]string{"PRD-001.hcl": secret("PRD-001", "")}, "", PipelineRef{PRD: "PRD-001"}, given("password"), nil, "", []string{"password"}, ""},
		"not given, and others":     {map[string]string{"PRD-001.hcl": secret("PRD-001", "")}, "", PipelineRef{PRD: "PRD-001"}, given("other"), nil, "", []string{"other", "password"}, ""},
		"of another PRD":            {map[string]string{"PRD-001.hcl": secret("PRD-002", `default = "secret"`)}, "", PipelineRef{PRD: "PRD-001"}, nil, nil, "", []string{"password"}, ""},
		"the pipeline is gone":      {nil, "", PipelineRef{PRD: "PRD-001"}, given("password"), nil, "", []string{"password"}, "PRD-001.hcl"},
		"of an earlier version":     {nil, "", PipelineRef{PRD: "PRD-001"}, started, nil, "", []string{"token"}, "gone.hcl"},
		"gone, and had none":        {nil, "", PipelineRef{PRD: "PRD-001"}, &state.State{PRD: "PRD-001"}, nil, "", nil, ""},
		"gone, and damaged":         {nil, "", PipelineRef{PRD: "PRD-001"}, nil, errors.New("damaged"), "", []string{}, ""},
		"damaged, with a pipeline":  {map[string]string{"PRD-001.hcl": pipelineOf("PRD-001")}, "", PipelineRef{PRD: "PRD-001"}, nil, errors.New("damaged"), "my secret word", nil, ""},
		"the file that is named":    {map[string]string{"x.hcl": secret("PRD-001", `default = "secret"`)}, "", PipelineRef{PRD: "PRD-001", File: "x.hcl"}, given("password"), nil, "my *** word", nil, ""},
		"the file of the session":   {map[string]string{"x.hcl": secret("PRD-001", `default = "secret"`), "PRD-001.hcl": pipelineOf("PRD-001")}, "", PipelineRef{PRD: "PRD-001"}, &state.State{Pipeline: state.FileRef{Path: "x.hcl"}}, nil, "my *** word", nil, ""},
		"no pipeline, no session":   {nil, "", PipelineRef{PRD: "PRD-001"}, nil, nil, "", nil, ""},
		"a directory as a pipeline": {map[string]string{"x.hcl/y": "", "PRD-001.hcl": pipelineOf("PRD-001")}, "", PipelineRef{PRD: "PRD-001"}, &state.State{Pipeline: state.FileRef{Path: "x.hcl"}}, nil, "my secret word", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := in(t, test.files, test.environ)
			masker, err := SecretsOf(p.env, p.cfg, test.ref, test.st, test.damaged)
			var unknown *UnknownSecretsError
			if errors.As(err, &unknown) != (test.unknown != nil) || err != nil && unknown == nil {
				t.Fatalf("%v, want it to name %q", err, test.unknown)
			}
			if unknown != nil && (!slices.Equal(unknown.Names, test.unknown) || unknown.File != test.file || !strings.Contains(err.Error(), strings.Join(test.unknown, ", "))) {
				t.Errorf("%q of %q, want %q of %q: %v", unknown.Names, unknown.File, test.unknown, test.file, err)
			}
			if (masker != nil) != (test.masked != "") {
				t.Fatalf("a masker: %v", masker != nil)
			}
			if masker != nil && masker.String("my secret word") != test.masked {
				t.Errorf("%q, want %q", masker.String("my secret word"), test.masked)
			}
		})
	}
}

// TestKnownSecretsOfASession: the pipeline is that of the session, if there is one.
func TestKnownSecretsOfASession(t *testing.T) {
	t.Parallel()
	p := in(t, map[string]string{"PRD-001.hcl": secret("PRD-001", `default = "secret"`)})
	for range 2 {
		masker, err := KnownSecrets(p.env, p.cfg, p.store(), PipelineRef{PRD: "PRD-001"})
		if err != nil || masker == nil || !masker.Any() {
			t.Errorf("%v", err)
		}
		p.begin("PRD-001", "s1", nil)
		p.begin("PRD-001", "s2", func(x *checkpoint.Session) { p.archive(x) })
	}
}

// TestRefuseSecrets: the user is warned if files can't be searched for secrets.
func TestRefuseSecrets(t *testing.T) {
	t.Parallel()
	p := in(t, nil)
	w, err := OpenWorkspace(t.Context(), p.env, p.cfg, p.store())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	masker, err := mask.New([]mask.Secret{{Name: "password", Value: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		masker *mask.Masker
		err    error
		want   string
	}{
		{nil, nil, ""}, {masker, nil, ""}, {nil, errors.New("it is gone"), "Warning: files are not searched for sensitive values, since it is gone\n"},
	} {
		p.stderr.Reset()
		if RefuseSecrets(p.env, w, test.masker, test.err); p.stderr.String() != test.want {
			t.Errorf("%v: %q, want %q", test.err, p.stderr.String(), test.want)
		}
	}
	if err := CheckBranchName(t.Context(), w.Git(), masker); err != nil {
		t.Errorf("without git: %v", err)
	}
}

// TestSetUp: a session must not record a sensitive value in the name of a file, and the
// command to type again has all flags.
func TestSetUp(t *testing.T) {
	t.Parallel()
	const told = "the path of the pipeline's file holds a sensitive value"
	p := in(t, map[string]string{"secret.hcl": secret("PRD-001", `default = "secret"`), "x.hcl": secret("PRD-001", `default = "secret"`), "PRD-001.hcl": pipelineOf("PRD-001")})
	_, err := SetUp(t.Context(), p.env, p.cfg, PipelineRef{File: "secret.hcl"})
	p.says("its name", err, told, "rename it")
	for file, want := range map[string]string{"x.hcl": "build PRD-001 -f x.hcl --resume --var-file ***.tfvars", "": "build PRD-001 --resume"} {
		setup, err := SetUp(t.Context(), p.env, p.cfg, PipelineRef{PRD: "PRD-001", File: file})
		if err != nil {
			t.Fatal(err)
		}
		if file != "" {
			setup.VariableFlags = setup.Masker.String((&PipelineRef{VarFiles: []string{"secret.tfvars"}}).VariableFlags(nil))
		}
		if got := setup.Command(" --resume"); got != want {
			t.Errorf("%q: %s, want %s", file, got, want)
		}
		setup.Close()
	}
	documented := strings.Replace(secret("PRD-001", `default = "secret"`), "{\n  phase", "{\n  document = \"docs/secret.md\"\n  phase", 1)
	d := in(t, map[string]string{"x.hcl": documented, "docs/secret.md": ""})
	_, err = SetUp(t.Context(), d.env, d.cfg, PipelineRef{File: "x.hcl"})
	d.says("its document", err, "the path of the pipeline's document holds a sensitive value", "rename it")
}

// TestSecretsAreNotCaptured: a build leaves out files that hold a sensitive value, and
// refuses to record a branch whose name does.
func TestSecretsAreNotCaptured(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{`default = "secret"`: 1, `default = "another"`: 0} {
		p := in(t, map[string]string{"PRD-001.hcl": secret("PRD-001", text), "note": "the secret word"})
		ref := PipelineRef{PRD: "PRD-001"}
		setup, err := SetUp(t.Context(), p.env, p.cfg, ref)
		if err != nil {
			t.Fatal(err)
		}
		p.begin("PRD-001", "s1", func(x *checkpoint.Session) {
			if _, err := x.Capture(t.Context(), setup.Files, []string{"note"}); err != nil || x.State().Capture.LeftOut != want {
				t.Errorf("%s: %+v, %v", text, x.State().Capture, err)
			}
		})
		setup.Close()
		guarded, err := GuardedWorkspace(t.Context(), p.env, p.cfg, p.store(), "PRD-001")
		if err != nil {
			t.Fatal(err)
		}
		p.begin("PRD-001", "s2", func(x *checkpoint.Session) {
			if _, err := x.Capture(t.Context(), guarded, []string{"note"}); err != nil || x.State().Capture.LeftOut != want {
				t.Errorf("without building, %s: %+v, %v", text, x.State().Capture, err)
			}
		})
		if err := guarded.Close(); err != nil {
			t.Fatal(err)
		}
		git := exec.CommandContext(t.Context(), "git", "init", "--quiet", "--initial-branch", "fix-secret")
		git.Dir = p.env.Workdir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		setup, err = SetUp(t.Context(), p.env, p.cfg, ref)
		if want == 0 {
			setup.Close()
			continue
		}
		p.says("the branch", err, "the name of the git branch, fix-***, holds a sensitive value", "`git branch -m NAME` renames it")
	}
}
