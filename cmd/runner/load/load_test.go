package load

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/show"
)

// place is a workspace of a test.
type place struct {
	*testing.T
	env    *cli.Environment
	cfg    *config.Config
	stderr *bytes.Buffer
}

// in returns a workspace that holds the given files.
func in(t *testing.T, files map[string]string, environ ...string) *place {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &place{T: t, stderr: &bytes.Buffer{}}
	p.env = &cli.Environment{
		CommandLine: advice.CommandLine{Workdir: dir}, Environ: append(environ, "PATH="+os.Getenv("PATH")), Now: time.Now,
		Stderr: show.NewScreen(p.stderr), IsTerminal: func(any) bool { return false },
	}
	var err error
	if p.cfg, err = p.env.LoadConfig(); err != nil {
		t.Fatal(err)
	}
	return p
}

// store opens the store of all PRDs.
func (p *place) store() *checkpoint.Store {
	p.Helper()
	store, err := OpenStore(p.env, p.cfg, PipelineRef{})
	checkpointtest.Must(p, err)
	return store
}

// begin begins a session, changes it and closes it.
func (p *place) begin(prd, session string, change func(x *checkpoint.Session)) {
	p.Helper()
	x := checkpointtest.LockPRD(p, p.store(), prd)
	started := checkpointtest.StartedOf(prd, session, 1)
	started.Pipeline.Path = state.Text(prd + ".hcl")
	checkpointtest.Must(p, x.Start(started))
	if change != nil {
		change(x)
	}
	checkpointtest.Must(p, x.Close())
}

// archive archives the session of a PRD.
func (p *place) archive(x *checkpoint.Session) {
	p.Helper()
	_, err := x.Archive(p.Context(), checkpointtest.By, "")
	checkpointtest.Must(p, err)
}

// says fails the test unless an error is told as wanted, and its hint, if there is one,
// begins as wanted.
func (p *place) says(name string, err error, want, hint string) {
	p.Helper()
	told := ""
	if err != nil {
		told = err.Error()
	}
	got := advice.Of(advice.CommandLine{Workdir: p.env.Workdir}, "", err)
	if !strings.HasPrefix(told, want) || want == "" && told != "" || !strings.HasPrefix(got, hint) || hint == "" && got != "" {
		p.Errorf("%s: %q, hint %q\nwant %q, hint %q", name, told, got, want, hint)
	}
}

func pipelineOf(prd string) string {
	return "pipeline \"" + prd + "\" {\n  phase \"a\" {\n    workstream \"w\" { command = [\"true\"] }\n  }\n}\n"
}

func callOf(prd string) string {
	return strings.Replace(pipelineOf(prd), "command = [\"true\"]", "\n      call { file = \"child.hcl\" }\n   ", 1)
}

// TestPipelinePath: the file of a pipeline is found by its PRD, or is the only one, and an
// error names what there is.
func TestPipelinePath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files      map[string]string
		ref        PipelineRef
		want       string
		told, hint string
	}{
		"named":            {nil, PipelineRef{File: "x.hcl", PRD: "PRD-001"}, "x.hcl", "", ""},
		"found":            {map[string]string{"PRD-001.hcl": "", "pipelines/PRD-001.hcl": ""}, PipelineRef{PRD: "PRD-001"}, "PRD-001.hcl", "", ""},
		"found below":      {map[string]string{"pipelines/PRD-001.hcl": ""}, PipelineRef{PRD: "PRD-001"}, "pipelines/PRD-001.hcl", "", ""},
		"found elsewhere":  {map[string]string{"runner.yaml": "pipelines: ci\n", "ci/PRD-001.hcl": ""}, PipelineRef{PRD: "PRD-001"}, "ci/PRD-001.hcl", "", ""},
		"not found":        {nil, PipelineRef{PRD: "PRD-001"}, "", "there is no pipeline for PRD-001; looked for\n  PRD-001.hcl\n  pipelines/PRD-001.hcl", "`runner init PRD-001` writes one"},
		"not found either": {map[string]string{"PRD-002.hcl": "", "PRD-003.hcl/x": ""}, PipelineRef{PRD: "PRD-001"}, "", "there is no pipeline for PRD-001", "there are pipelines of PRD-002; `runner init PRD-001` writes one"},
		"the only one":     {map[string]string{"PRD-001.hcl": "", "pipelines/PRD-001.hcl": "", "other.hcl": "", "PRD-002": ""}, PipelineRef{}, "PRD-001.hcl", "", ""},
		"several":          {map[string]string{"PRD-001.hcl": "", "pipelines/PRD-002.hcl": ""}, PipelineRef{}, "", "no pipeline named", "name one of these: PRD-001, PRD-002"},
		"none":             {nil, PipelineRef{}, "", "there is no pipeline for any PRD", "`runner init PRD-001` writes one to begin with"},
		"only others":      {map[string]string{"main.hcl": "", "dir.hcl/x": ""}, PipelineRef{}, "", "there is no pipeline for any PRD", `main.hcl is not named after a PRD id, which must be PRD- and three digits or more, such as PRD-009: name it with -f main.hcl`},
		"no directory":     {map[string]string{"pipelines": ""}, PipelineRef{}, "", "look for pipelines: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := in(t, test.files)
			got, err := PipelinePath(p.env, p.cfg, test.ref)
			p.says(name, err, test.told, test.hint)
			if test.want != "" && got != filepath.Join(p.env.Workdir, filepath.FromSlash(test.want)) {
				t.Errorf("found %s, want %s", got, test.want)
			}
		})
	}
	ran := in(t, map[string]string{"ci/x.hcl": ""})
	x := checkpointtest.LockPRD(ran, ran.store(), "PRD-001")
	started := checkpointtest.StartedOf("PRD-001", "s1", 1)
	started.Pipeline.Path = "ci/x.hcl"
	checkpointtest.Must(t, x.Start(started))
	checkpointtest.Must(t, x.Close())
	_, err := PipelinePath(ran.env, ran.cfg, PipelineRef{PRD: "PRD-001"})
	ran.says("a session", err, "there is no pipeline", "its session ran ci/x.hcl: `runner build PRD-001 -f ci/x.hcl --resume` resumes it")
}

func TestCheckPRD(t *testing.T) {
	t.Parallel()
	p := in(t, map[string]string{"PRD-001.hcl": ""})
	for id, want := range map[string][2]string{
		"PRD-001":         {"", ""},
		"PRD-002":         {"", ""},
		"ci/PRD-002.hcl":  {`"ci/PRD-002.hcl" is not a PRD id: it must be PRD- and three digits or more, such as PRD-009`, "did you mean PRD-002?"},
		"main.hcl":        {`"main.hcl" is not a PRD id`, "to allow other names: "},
		"prd-01":          {`"prd-01" is not a PRD id`, "did you mean PRD-001?"},
		"something other": {`"something other" is not a PRD id`, "to allow other names: "},
	} {
		p.says(id, CheckPRD(p.env, p.cfg, id), want[0], want[1])
	}
	own := in(t, map[string]string{"runner.yaml": "id_pattern: '[a-z]+'\n", "abc.hcl": ""})
	own.says("its own", CheckPRD(own.env, own.cfg, "abc"), "", "")
	own.says("reserved", CheckPRD(own.env, own.cfg, "locks"), `"locks" is not a PRD id: Runner keeps`, "")
}

// TestReadPipeline holds what is said of a pipeline beside its own mistakes.
func TestReadPipeline(t *testing.T) {
	t.Parallel()
	const good = "PRD-001"
	withInput := strings.Replace(pipelineOf(good), `{ command = ["true"] }`, "{\ncommand = [\"true\"]\n inputs = [\"none/*\"]\n}", 1)
	for name, test := range map[string]struct {
		files map[string]string
		ref   PipelineRef
		want  string // the summaries
		told  string
	}{
		"good":                {map[string]string{"PRD-001.hcl": pipelineOf(good)}, PipelineRef{PRD: good}, "", ""},
		"of another PRD":      {map[string]string{"PRD-001.hcl": pipelineOf("PRD-002")}, PipelineRef{PRD: good}, "Pipeline of another PRD", ""},
		"by its file":         {map[string]string{"x.hcl": pipelineOf("PRD-002")}, PipelineRef{File: "x.hcl"}, "", ""},
		"id of a call":        {map[string]string{"runner.yaml": "id_pattern: '[a-z.]+'\n", "x.hcl": callOf("x"), "child.hcl": pipelineOf("child")}, PipelineRef{File: "x.hcl"}, "Unusable id of a called pipeline", ""},
		"reserved":            {map[string]string{"runner.yaml": "id_pattern: '[a-z]+'\n", "x.hcl": pipelineOf("locks")}, PipelineRef{File: "x.hcl"}, "Unusable pipeline id", ""},
		"unmatched, unasked":  {map[string]string{"PRD-001.hcl": withInput}, PipelineRef{PRD: good}, "", ""},
		"unmatched":           {map[string]string{"PRD-001.hcl": withInput}, PipelineRef{PRD: good, WarnUnmatched: true}, "warning: Inputs that match nothing", ""},
		"unmatched, strictly": {map[string]string{"PRD-001.hcl": withInput}, PipelineRef{PRD: good, WarnUnmatched: true, strict: true}, "Inputs that match nothing", ""},
		"matched":             {map[string]string{"PRD-001.hcl": withInput, "none/x": ""}, PipelineRef{PRD: good, WarnUnmatched: true}, "", ""},
		"no file":             {nil, PipelineRef{File: "x.hcl"}, "", "there is no file "},
		"no PRD":              {nil, PipelineRef{PRD: "x"}, "", `"x" is not a PRD id`},
		"--var without =":     {map[string]string{"PRD-001.hcl": pipelineOf(good)}, PipelineRef{PRD: good, Vars: []string{"a"}}, "", "--var must be NAME=VALUE"},
		"--var without name":  {map[string]string{"PRD-001.hcl": pipelineOf(good)}, PipelineRef{PRD: good, Vars: []string{"=a"}}, "", "--var must be NAME=VALUE"},
		"no --var-file":       {map[string]string{"PRD-001.hcl": pipelineOf(good)}, PipelineRef{PRD: good, VarFiles: []string{"none"}}, "", "there is no file "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := in(t, test.files)
			read, err := ReadPipeline(p.env, p.cfg, test.ref)
			told := ""
			if err != nil {
				told = err.Error()
			}
			if !strings.HasPrefix(told, test.told) || test.told == "" && told != "" {
				t.Fatalf("%v, want %s", err, test.told)
			}
			if err != nil {
				return
			}
			var summaries []string
			for _, d := range read.Diagnostics {
				prefix := ""
				if !read.Diagnostics.HasErrors() {
					prefix = "warning: "
				}
				summaries = append(summaries, prefix+d.Summary)
			}
			if got := strings.Join(summaries, ", "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestVariables: --var overrides --var-file, which overrides the environment, and messages
// repeat all flags but sensitive values.
func TestVariables(t *testing.T) {
	t.Parallel()
	p := in(t, map[string]string{"one.hcl": "b = \"file\"\nc = \"file\"\n", "two.hcl": "d = \"file\"\n"}, "PRDRUNNER_VAR_a=env", "PRDRUNNER_VAR_b=env", "PRDRUNNER_VAR_c=env", "OTHER=x")
	ref := PipelineRef{VarFiles: []string{"one.hcl", "two.hcl", "/dev/fd/63"}, Vars: []string{"c=flag=x", "password=secret", "e=a b"}}
	if got, want := ref.VariableFlags([]string{"password"}), " --var-file one.hcl --var-file two.hcl --var-file … --var c=flag=x --var password=… --var 'e=a b'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	ref.VarFiles = ref.VarFiles[:2]
	inputs, diags, err := readVariables(p.env, ref)
	if err != nil || len(diags) > 0 || len(inputs) != 6 {
		t.Fatal(inputs, diags, err)
	}
	for name, want := range map[string]string{"a": "env", "c": "flag=x"} {
		if inputs[name].Text != want {
			t.Errorf("%s is %+v, want %s", name, inputs[name], want)
		}
	}
	for _, name := range []string{"b", "d"} {
		if inputs[name].Value.AsString() != "file" {
			t.Errorf("%s is %+v", name, inputs[name])
		}
	}
}

func TestSetName(t *testing.T) {
	t.Parallel()
	p := in(t, nil)
	for argument, want := range map[string]PipelineRef{"PRD-001": {PRD: "PRD-001"}, "ci/x.hcl": {File: "ci/x.hcl"}} {
		var ref PipelineRef
		if ref.SetName(p.env, argument); ref.PRD != want.PRD || ref.File != want.File {
			t.Errorf("%s: %+v", argument, ref)
		}
	}
	ref := PipelineRef{File: "y.hcl"}
	if ref.SetName(p.env, "x.hcl"); ref.PRD != "x.hcl" || ref.File != "y.hcl" {
		t.Errorf("with -f: %+v", ref)
	}
}

// TestPipeline: its mistakes are printed, and a pipeline that nobody named is named.
func TestPipeline(t *testing.T) {
	t.Parallel()
	p := in(t, map[string]string{"PRD-001.hcl": pipelineOf("PRD-001"), "bad/x.hcl": "pipeline {}\n"})
	for _, test := range []struct {
		ref  PipelineRef
		told string
		want string
	}{
		{PipelineRef{}, "", "No PRD was named: this is PRD-001, of the only pipeline here (PRD-001.hcl)\n"},
		{PipelineRef{PRD: "PRD-001"}, "", ""},
		{PipelineRef{File: "PRD-001.hcl"}, "", ""},
		{PipelineRef{File: "bad/x.hcl"}, "the pipeline is invalid", "Error: "},
	} {
		p.stderr.Reset()
		_, err := Pipeline(p.env, p.cfg, test.ref)
		p.says(test.ref.File, err, test.told, "")
		if got := p.stderr.String(); !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%+v: %q, want %q", test.ref, got, test.want)
		}
	}
	if _, err := EvaluatedPipeline(p.env, p.cfg, PipelineRef{File: "bad/x.hcl"}); err == nil || !strings.HasPrefix(err.Error(), "bad/x.hcl: ") {
		t.Errorf("%v", err)
	}
	if _, err := EvaluatedPipeline(p.env, p.cfg, PipelineRef{PRD: "PRD-001"}); err != nil {
		t.Error(err)
	}
}

// TestNoSession: the error of a PRD without a session names what there is instead.
func TestNoSession(t *testing.T) {
	t.Parallel()
	const told = "there is no session of PRD-001"
	p := in(t, nil)
	_, _, err := State(p.env, "PRD-001")
	p.says("nothing", err, told, "there is no pipeline of it either: `runner init PRD-001` writes one")
	p.says("nothing at all", NoSessions(p.env), "there are no sessions", "`runner init PRD-001` writes a pipeline")
	with := in(t, map[string]string{"PRD-001.hcl": ""})
	_, _, err = State(with.env, "PRD-001")
	with.says("a pipeline", err, told, "`runner build PRD-001` starts one")
	with.says("a pipeline", NoSessions(with.env), "there are no sessions", "`runner build PRD-001` starts one")
	other := in(t, map[string]string{"runner.yaml": "id_pattern: '[a-z]+'\n"})
	other.says("other names", NoSessions(other.env), "there are no sessions", "`runner init` writes a pipeline")
	p.begin("PRD-002", "s2", nil)
	_, _, err = State(p.env, "PRD-001")
	p.says("another session", err, told, "there are sessions of PRD-002")
	p.begin("PRD-001", "s1", p.archive)
	_, _, err = State(p.env, "PRD-001")
	p.says("an unfinished one", err, told, "the last one is archived in "+filepath.Join(".runner", "failed"))
	if hint := advice.Of(advice.CommandLine{}, "", err); strings.Contains(hint, "begins from it") {
		t.Errorf("of an unfinished one: %s", hint)
	}
	if last, err := LastComplete(p.store(), "PRD-001"); last != nil || err != nil {
		t.Errorf("an unfinished one counts as complete: %v, %v", last, err)
	}
	if err := p.store().Layout().WritePending(p.store().Layout().PRDDir("PRD-001"), &disk.PendingImport{FormatVersion: state.FormatVersion, Session: "s1", Archive: "a.tar"}); err != nil {
		t.Fatal(err)
	}
	_, _, err = State(p.env, "PRD-001")
	p.says("an import", err, told, "one was being imported, which was cut short: `runner checkpoint import a.tar` finishes it")
	done := in(t, nil)
	done.begin("PRD-001", "s1", func(x *checkpoint.Session) {
		checkpointtest.Commit(t, x, state.SessionCompleted{})
		done.archive(x)
	})
	_, _, err = State(done.env, "PRD-001")
	done.says("a complete one", err, told, "the last one is archived in "+filepath.Join(".runner", "PRD-001", "history"))
	if hint := advice.Of(advice.CommandLine{}, "", err); !strings.HasSuffix(hint, ", `runner build PRD-001 --resume` begins from it") {
		t.Errorf("of a complete one: %s", hint)
	}
	if last, err := LastComplete(done.store(), "PRD-001"); err != nil || last == nil || last.Session != "s1" {
		t.Errorf("a complete one: %v, %v", last, err)
	}
	if last, err := LastComplete(done.store(), "PRD-002"); last != nil || err != nil {
		t.Errorf("of no session: %v, %v", last, err)
	}
}

// TestNamedOrOnlyState: a command that names no PRD takes the only session.
func TestNamedOrOnlyState(t *testing.T) {
	t.Parallel()
	p := in(t, nil)
	_, _, err := NamedOrOnlyState(p.env, "")
	p.says("none", err, "there are no sessions", "`runner init PRD-001`")
	p.begin("PRD-001", "s1", nil)
	if _, st, err := NamedOrOnlyState(p.env, ""); err != nil || st.PRD != "PRD-001" {
		t.Errorf("the only one: %v", err)
	}
	p.begin("PRD-002", "s2", nil)
	_, _, err = NamedOrOnlyState(p.env, "")
	p.says("several", err, "there are several sessions", "PRD-001, PRD-002")
	if _, st, err := NamedOrOnlyState(p.env, "PRD-002"); err != nil || st.PRD != "PRD-002" {
		t.Errorf("a named one: %v", err)
	}
	_, _, err = NamedOrOnlyState(p.env, "x")
	p.says("no PRD", err, `"x" is not a PRD id`, "to allow other names")
	_, err = OpenAnyStore(p.env, "x")
	p.says("no PRD", err, `"x" is not a PRD id`, "to allow other names")
	each := in(t, map[string]string{"runner.yaml": "checkpoint: {storage: {location: 'state/{prd}'}}\n"})
	_, err = OpenAnyStore(each.env, "")
	each.says("each its own", err, "each PRD has a state directory of its own here: state/{prd}", "name a PRD")
	if store, err := OpenAnyStore(each.env, "PRD-001"); err != nil || store.Dir() != filepath.Join(each.env.Workdir, "state", "PRD-001") {
		t.Errorf("%v", err)
	}
}

// TestInterruptedSession: the user is told what was cut short in a session that nobody
// runs, and that a document written by hand is no session.
func TestInterruptedSession(t *testing.T) {
	t.Parallel()
	p := in(t, nil)
	p.begin("PRD-001", "s1", func(x *checkpoint.Session) {
		checkpointtest.Commit(t, x, state.RollbackStarted{ID: "R1", To: "C1", Scope: state.RollbackAll})
	})
	for name, open := range map[string]func() (*checkpoint.Store, *state.State, error){
		"State": func() (*checkpoint.Store, *state.State, error) { return State(p.env, "PRD-001") },
		"TrustedState": func() (*checkpoint.Store, *state.State, error) {
			return TrustedState(t.Context(), p.env, PipelineRef{PRD: "PRD-001"})
		},
	} {
		p.stderr.Reset()
		if _, st, err := open(); err != nil || st.Rollback == nil || !strings.HasPrefix(p.stderr.String(), "Rollback to C1 was cut short") {
			t.Errorf("%s: %v, %q", name, err, p.stderr.String())
		}
	}
	x := checkpointtest.LockPRD(t, p.store(), "PRD-001")
	p.stderr.Reset()
	if _, _, err := State(p.env, "PRD-001"); err != nil || p.stderr.Len() > 0 {
		t.Errorf("while another process finishes it: %v, %q", err, p.stderr.String())
	}
	checkpointtest.Must(t, x.Close())
	early := StartSession(p.env, p.cfg, PipelineRef{PRD: "PRD-001"})
	if snap, err := early.Load(p.store(), "PRD-001"); err != nil || snap.State.Session != "s1" || early.PRD != "PRD-001" {
		t.Errorf("read early: %v", err)
	}
	p.begin("PRD-002", "s2", nil)
	if snap, err := early.Load(p.store(), "PRD-002"); err != nil || snap.State.Session != "s2" {
		t.Errorf("of another PRD: %v", err)
	}
	for _, prd := range []string{"", "x"} {
		if none := StartSession(p.env, p.cfg, PipelineRef{PRD: prd}); none.PRD != "" {
			t.Errorf("%q: the session of %q is read", prd, none.PRD)
		} else {
			none.Wait()
		}
	}
}

func TestPipelineDirs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"": {"", "pipelines"}, "pipelines: ''": {"", "pipelines"}, "pipelines: ./pipelines/": {"", "pipelines"}, "pipelines: ci": {"", "pipelines", "ci"}} {
		p := in(t, map[string]string{"runner.yaml": text + "\n"})
		for i, dir := range want {
			want[i] = filepath.Join(p.env.Workdir, dir)
		}
		if got := PipelineDirs(p.env, p.cfg); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestPipelineOf: a command takes the pipeline from the flags that it has.
func TestPipelineOf(t *testing.T) {
	t.Parallel()
	var typed PipelineRef
	cmd := &cobra.Command{}
	if got := PipelineOf("PRD-001", cmd.Flags()); got.PRD != "PRD-001" || got.File != "" || got.Vars != nil {
		t.Errorf("without flags: %+v", got)
	}
	typed.AddFlags(cmd)
	if err := cmd.ParseFlags([]string{"-f", "x.hcl", "--var", "a=b,c", "--var-file", "v"}); err != nil {
		t.Fatal(err)
	}
	if got := PipelineOf("PRD-001", cmd.Flags()); got.File != "x.hcl" || !slices.Equal(got.Vars, []string{"a=b,c"}) || !slices.Equal(got.VarFiles, []string{"v"}) {
		t.Errorf("%+v", got)
	}
}

// TestNoOrphans: a command that finds a killed session says nothing of processes if none
// was left running.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	p := in(t, nil)
	x := checkpointtest.LockPRD(t, p.store(), "PRD-001")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-001", "s1", 1)))
	checkpointtest.Kill(t, x)
	checkpointtest.Must(t, checkpointtest.LockPRD(t, p.store(), "PRD-001").Close())
	if p.stderr.Len() > 0 {
		t.Errorf("it says %q", p.stderr.String())
	}
}

// TestOpenWorkspaceAhead: the files that a command has taken stay open until it closes
// them.
func TestOpenWorkspaceAhead(t *testing.T) {
	t.Parallel()
	p := in(t, map[string]string{"a": "text"})
	ahead := OpenWorkspaceAhead(t.Context(), p.env, p.cfg, p.store(), &state.State{})
	w, err := ahead.Await()
	checkpointtest.Must(t, err)
	ahead.Stop()
	if m, err := w.Tree().Match(t.Context(), []string{"a"}, nil); err != nil || !m.HasContent() {
		t.Errorf("%+v, %v", m, err)
	}
	checkpointtest.Must(t, w.Close())
	OpenWorkspaceAhead(t.Context(), p.env, p.cfg, p.store(), &state.State{}).Stop()
}
