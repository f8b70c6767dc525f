package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/words"
	"prdrunner/pipeline"
	"prdrunner/runner"
)

// ErrDiagnosed reports that the pipeline is invalid. Its diagnostics were printed, so
// nothing more is.
var ErrDiagnosed = errors.New("the pipeline is invalid")

// PipelineRef names a pipeline, and sets its variables.
type PipelineRef struct {
	PRD           string // "": the PRD that the file names
	File          string // "": found by the PRD id
	Issue         int    // the number of its issue if it has no file; 0: not known
	Vars          []string
	VarFiles      []string
	AllowUnset    bool // variables need no values
	called        bool // another pipeline calls it, and gives values to its variables
	WarnUnmatched bool // warn about inputs that match no file now
	strict        bool // treat warnings as errors

	// Unsaved are contents of files of the workspace that an editor has, by path. They are read instead of the files.
	Unsaved map[string][]byte
}

// AddFlags adds the flags that choose a file and set variables.
func (r *PipelineRef) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&r.File, "file", "f", "", "read the pipeline from `FILE`")
	r.AddVariableFlags(cmd)
}

// AddVariableFlags adds the flags that set variables.
func (r *PipelineRef) AddVariableFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&r.Vars, "var", nil, "set a variable of the pipeline, as `NAME=VALUE`; overrides --var-file and PRDRUNNER_VAR_NAME")
	cmd.Flags().StringArrayVar(&r.VarFiles, "var-file", nil, "set variables from `FILE`; overrides PRDRUNNER_VAR_NAME")
}

// AddStrictFlag adds --strict, for commands that warn of inputs that match nothing.
func (r *PipelineRef) AddStrictFlag(cmd *cobra.Command) {
	r.WarnUnmatched = true
	cmd.Flags().BoolVar(&r.strict, "strict", false, "treat warnings about the pipeline as errors, such as inputs that match nothing")
}

// SetName sets the PRD or the file from an argument that names a pipeline.
func (r *PipelineRef) SetName(env *cli.Environment, argument string) {
	if r.File == "" && filepath.Ext(argument) == config.PipelineExtension {
		r.File = env.FromWorkspace(argument)
		return
	}
	r.PRD = argument
}

// PipelineOf returns the pipeline that a command line names, from the flags that the
// command has.
func PipelineOf(prd string, flags *pflag.FlagSet) PipelineRef {
	ref := PipelineRef{PRD: prd}
	if flags.Lookup("var") == nil {
		return ref
	}
	// A command with --var defines all three flags, with these types.
	ref.File, _ = flags.GetString("file")
	ref.Vars, _ = flags.GetStringArray("var")
	ref.VarFiles, _ = flags.GetStringArray("var-file")
	return ref
}

// FindPRD sets the PRD of a reference that names only a file, to the one that the file
// names. The mistakes in the file are found by those that read the whole of it.
func (r *PipelineRef) FindPRD(env *cli.Environment) error {
	if r.PRD != "" || r.File == "" {
		return nil
	}
	path := env.Path(r.File)
	source, err := ReadSource(path)
	if err != nil {
		return err
	}
	file, _ := pipeline.Parse(source, env.Display(path))
	r.PRD = file.ID()
	return nil
}

// NotFoundError reports that a PRD has no pipeline.
type NotFoundError struct {
	PRD   string
	tried []string // the files that were searched for, in this order
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no pipeline for %s; looked for\n  %s", e.PRD, strings.Join(e.tried, "\n  "))
}

// Pipeline finds, reads and evaluates a pipeline. It prints the diagnostics, and
// returns ErrDiagnosed if they contain errors.
func Pipeline(env *cli.Environment, cfg *config.Config, ref PipelineRef) (*pipeline.Pipeline, error) {
	read, err := ReadPipeline(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	if err := env.PrintDiagnostics(read.Sources, read.Diagnostics); err != nil {
		return nil, err
	}
	if read.Diagnostics.HasErrors() {
		return nil, ErrDiagnosed
	}
	if ref.PRD == "" && ref.File == "" {
		fmt.Fprintf(env.Stderr, "No PRD was named: this is %s, of the only pipeline here (%s)\n", read.Pipeline.ID, read.File)
	}
	return read.Pipeline, nil
}

// EvaluatedPipeline finds, reads and evaluates a pipeline for a command that can do
// without it. It prints nothing, and returns the mistakes as an error.
func EvaluatedPipeline(env *cli.Environment, cfg *config.Config, ref PipelineRef) (*pipeline.Pipeline, error) {
	read, err := ReadPipeline(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	if read.Diagnostics.HasErrors() {
		return nil, fmt.Errorf("%s: %w", read.File, read.Diagnostics)
	}
	return read.Pipeline, nil
}

// PipelineResult is a pipeline that was read, with all diagnostics about it.
type PipelineResult struct {
	File        string             // its name in messages
	Pipeline    *pipeline.Pipeline // nil if there are errors
	sensitive   []string           // names of the sensitive variables, even if there are errors
	Diagnostics hcl.Diagnostics
	Sources     map[string][]byte // for the snippets in diagnostics
}

// hiddenIn returns a function that reports whether globs ignore a path of the workspace.
// Globs ignore the state directory even before the first session creates it.
func hiddenIn(env *cli.Environment, cfg *config.Config, file *pipeline.File) func(string) bool {
	issue, _ := file.IssueNumber() // without a number nothing is built, if the state directory depends on it
	hidden, state := workspace.Hidden(env.Workdir), path.Clean(filepath.ToSlash(cfg.StateDir(file.ID(), strconv.Itoa(issue))))
	return func(name string) bool {
		return hidden(name) || name == state || strings.HasPrefix(name, state+"/")
	}
}

// ReadPipeline does the work of Pipeline, and prints nothing.
func ReadPipeline(env *cli.Environment, cfg *config.Config, ref PipelineRef) (*PipelineResult, error) {
	if ref.PRD != "" {
		if err := CheckPRD(env, cfg, ref.PRD); err != nil {
			return nil, err
		}
	}
	path, err := PipelinePath(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	source, unsaved := ref.Unsaved[env.InWorkspace(path)]
	if !unsaved {
		if source, err = ReadSource(path); err != nil {
			return nil, err
		}
	}
	inputs, diags, err := readVariables(env, ref)
	if err != nil {
		return nil, err
	}
	parsed, _ := pipeline.Parse(source, env.Display(path))
	in := inputsIn(env, cfg, parsed, ref.Unsaved)
	in.Variables, in.Open = inputs, ref.AllowUnset
	if _, called := cfg.Root(ref.PRD); called {
		in.SessionID = ref.PRD
	}
	if ref.WarnUnmatched {
		files, err := workspace.Open(workspace.Options{Dir: env.Workdir})
		if err != nil {
			return nil, err
		}
		defer func() { _ = files.Close() }() // nothing was written through it
		in.Matches = matchesAny(files.WithMemo())
	}
	file := parsed.Including(in)
	p, more := file.Pipeline(in)
	result := &PipelineResult{File: file.Name(), Pipeline: p, sensitive: file.Sensitive(), Diagnostics: append(diags, more...), Sources: file.Sources()}
	if p != nil && ref.PRD != "" && p.ID != ref.PRD {
		result.Diagnostics = append(result.Diagnostics, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Pipeline of another PRD",
			Detail:   fmt.Sprintf("This file was read as the pipeline of %s, but holds the one of %s. Rename the file or the block, or ask for %s.", ref.PRD, p.ID, p.ID),
			Subject:  p.Range.Ptr(),
		})
	}
	if ref.strict {
		for _, d := range result.Diagnostics {
			d.Severity, result.Pipeline = hcl.DiagError, nil
		}
	}
	if p != nil {
		result.Diagnostics = append(result.Diagnostics, unusableIDs(cfg, p)...)
	}
	return result, nil
}

// inputsIn returns what a file is evaluated with in a workspace, but for the values of its variables.
func inputsIn(env *cli.Environment, cfg *config.Config, file *pipeline.File, unsaved map[string][]byte) pipeline.Inputs {
	return pipeline.Inputs{Workspace: env.Workdir, IDPattern: cfg.IDPattern, Hidden: hiddenIn(env, cfg, file), Links: workspaceLinks{env.Workdir}, Unsaved: unsaved}
}

// Included returns the files that a pipeline includes. For a path that unsaved has, its content replaces that of the file.
func Included(env *cli.Environment, cfg *config.Config, file *pipeline.File, unsaved map[string][]byte) []*pipeline.File {
	return file.Including(inputsIn(env, cfg, file, unsaved)).Included()
}

// unusableIDs returns the mistakes of a pipeline whose id, or that of a pipeline that it calls,
// can't be that of a session.
func unusableIDs(cfg *config.Config, p *pipeline.Pipeline) (diags hcl.Diagnostics) {
	if err := disk.CheckID(p.ID); err != nil {
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Unusable pipeline id",
			Detail:   fmt.Sprintf("Give the pipeline another id: %v.", err),
			Subject:  p.Range.Ptr(),
		})
	}
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			if ws.Calls == "" {
				continue
			}
			if id := runner.CalledID(p.ID, ws); cfg.IDPattern.MatchString(id) {
				diags = append(diags, &hcl.Diagnostic{
					Severity: hcl.DiagError,
					Summary:  "Unusable id of a called pipeline",
					Detail:   fmt.Sprintf("The session of the pipeline that %s calls has the id %s, and id_pattern (%s) takes that for the id of a PRD. Choose an id_pattern that allows no dots, in runner.yaml.", ws.Name, id, cfg.IDPatternText),
					Subject:  ws.Range.Ptr(),
				})
				break
			}
		}
	}
	return diags
}

// matchesAny returns a function that reports whether a file matches one of some patterns.
// It returns true if matching fails: the code that reads the files reports the error.
func matchesAny(files *workspace.Workspace) func(patterns []string) bool {
	return func(patterns []string) bool {
		has, err := files.Tree().HasMatch(context.Background(), patterns)
		return err != nil || has
	}
}

// CheckPRD refuses an id that does not match the configured pattern.
func CheckPRD(env *cli.Environment, cfg *config.Config, id string) error {
	inFile := strings.TrimSuffix(filepath.Base(id), config.PipelineExtension)
	if inFile == filepath.Base(id) && cfg.SessionPattern.MatchString(id) { // no called pipeline has an id that ends like a file
		if err := disk.CheckID(id); err != nil {
			return &advice.UsageError{Err: err}
		}
		return nil
	}
	err := advice.Usagef("%q is not a PRD id: it must %s", id, state.IDRule(cfg.IDPatternText))
	if inFile != id && cfg.IDPattern.MatchString(inFile) {
		return advice.With(err, fmt.Sprintf("did you mean %s?", inFile))
	}
	if near := words.Nearest(strings.ToUpper(id), KnownPRDs(env, cfg)); near != "" {
		return advice.With(err, fmt.Sprintf("did you mean %s?", near))
	}
	return advice.With(err, "to allow other names: "+pipeline.IDPatternAdvice)
}

// PipelinePath returns the path of the pipeline's file.
func PipelinePath(env *cli.Environment, cfg *config.Config, ref PipelineRef) (string, error) {
	path, err := lookUpPipeline(env, cfg, ref)
	if !advice.IsA[*NotFoundError](err) || ref.PRD == "" {
		return path, err
	}
	if file := ranFile(env, cfg, ref.PRD); file != "" {
		return "", advice.With(err, fmt.Sprintf("its session ran %s: `%s` resumes it", file, env.Command(advice.ResumeCommand(ref.PRD, filepath.ToSlash(file)))))
	}
	return "", advice.With(err, withoutPipeline(env, cfg, ref.PRD)+"; -f FILE reads one from elsewhere")
}

// lookUpPipeline does the work of PipelinePath. If the file is searched for and not found,
// it returns a *NotFoundError without a hint.
func lookUpPipeline(env *cli.Environment, cfg *config.Config, ref PipelineRef) (string, error) {
	switch {
	case ref.File != "":
		return env.Path(ref.File), nil
	case ref.PRD == "":
		return onlyPipeline(env, cfg)
	}
	if root, called := cfg.Root(ref.PRD); called {
		return calledPipeline(env, cfg, ref.PRD, root)
	}
	var tried []string
	for _, dir := range PipelineDirs(env, cfg) {
		path := filepath.Join(dir, ref.PRD+config.PipelineExtension)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for the pipeline of %s: %w", ref.PRD, err)
		}
		tried = append(tried, env.Display(path))
	}
	return "", &NotFoundError{PRD: ref.PRD, tried: tried}
}

// withoutPipeline returns the hint for a PRD that has no pipeline.
func withoutPipeline(env *cli.Environment, cfg *config.Config, prd string) string {
	hint := fmt.Sprintf("`%s` writes one to begin with", env.Command("init "+prd))
	if known := KnownPRDs(env, cfg); len(known) > 0 {
		hint = fmt.Sprintf("there are pipelines of %s; %s", strings.Join(known, ", "), hint)
	}
	return hint
}

// ranFile returns the pipeline file that the current session of a PRD ran, "" if it is
// unknown or gone.
func ranFile(env *cli.Environment, cfg *config.Config, prd string) string {
	store, err := OpenStore(env, cfg, PipelineRef{PRD: prd})
	if err != nil {
		return ""
	}
	snap, err := store.Load(prd)
	if err != nil || snap.State == nil {
		return ""
	}
	return SessionFile(env, snap.State)
}

// howToStart returns a hint: the command that starts a session of a PRD, or the command
// that writes a pipeline if the PRD has none.
func howToStart(env *cli.Environment, prd string) string {
	cfg, err := env.LoadConfig()
	if err == nil {
		if root, called := cfg.Root(prd); called {
			return fmt.Sprintf("`runner build %s` begins it, if the pipeline of %s calls one under this id", root, root)
		}
	}
	if err == nil && !slices.Contains(KnownPRDs(env, cfg), prd) {
		return fmt.Sprintf("there is no pipeline of it either: `runner init %s` writes one to begin with", prd)
	}
	return fmt.Sprintf("`runner build %s` starts one", prd)
}

// HowToStartAny returns the hint of howToStart for a command that names no PRD.
func HowToStartAny(env *cli.Environment) string {
	cfg, err := env.LoadConfig()
	if err != nil {
		return "`runner init` writes a pipeline to begin with"
	}
	known := KnownPRDs(env, cfg)
	switch {
	case len(known) > 0:
		return fmt.Sprintf("`runner build %s` starts one", known[0])
	case cfg.IDPattern.MatchString("PRD-001"):
		return "`runner init PRD-001` writes a pipeline to begin with"
	}
	return "`runner init` writes a pipeline to begin with"
}

// PipelineDirs returns the directories in which Runner searches for pipelines.
func PipelineDirs(env *cli.Environment, cfg *config.Config) []string {
	dirs := []string{env.Workdir, filepath.Join(env.Workdir, "pipelines")}
	if configured := env.Path(cfg.Pipelines); !slices.Contains(dirs, configured) {
		dirs = append(dirs, configured)
	}
	return dirs
}

// onlyPipeline returns the path of the only pipeline, for a command that names none. It is
// an error if there are several.
func onlyPipeline(env *cli.Environment, cfg *config.Config) (string, error) {
	found, err := FindPipelines(env, cfg)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", NoPipelines(env, cfg)
	case len(found) > 1:
		return "", advice.With(advice.Usagef("no pipeline named"), "name one of these: "+strings.Join(KnownPRDs(env, cfg), ", "))
	}
	return found[0].Path, nil
}

// NoPipelines returns the error of a workspace without pipelines. Its hint names a file
// that looks like a pipeline, but whose name does not match id_pattern.
func NoPipelines(env *cli.Environment, cfg *config.Config) error {
	var tried, others []string
	searched := cfg.IDPatternText
	if searched == config.DefaultIDPattern {
		searched = "PRD-NNN"
	}
	for _, dir := range PipelineDirs(env, cfg) {
		tried = append(tried, env.Display(dir)+"/"+searched+config.PipelineExtension)
		entries, _ := os.ReadDir(dir) // FindPipelines reports a directory that can't be read
		for _, entry := range entries {
			if path := filepath.Join(dir, entry.Name()); filepath.Ext(path) == config.PipelineExtension && !entry.IsDir() {
				others = append(others, env.Display(path))
			}
		}
	}
	err := &NotFoundError{PRD: "any PRD", tried: tried}
	if len(others) == 0 {
		return advice.With(err, "`runner init PRD-001` writes one to begin with")
	}
	return advice.With(err, fmt.Sprintf("%s is not named after a PRD id, which must %s: name it with -f %s, rename it, or %s",
		others[0], state.IDRule(cfg.IDPatternText), text.ShellWord(others[0]), pipeline.IDPatternAdvice))
}

// foundPipeline is a file whose name is that of a pipeline.
type foundPipeline struct {
	PRD  string
	Path string
}

// FindPipelines returns the files that `runner build` would find, sorted by PRD id.
func FindPipelines(env *cli.Environment, cfg *config.Config) ([]foundPipeline, error) {
	var found []foundPipeline
	for _, dir := range PipelineDirs(env, cfg) {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look for pipelines: %w", err)
		}
		for _, entry := range entries {
			prd, isPipeline := strings.CutSuffix(entry.Name(), config.PipelineExtension)
			known := slices.ContainsFunc(found, func(f foundPipeline) bool { return f.PRD == prd })
			if isPipeline && !known && !entry.IsDir() && cfg.IDPattern.MatchString(prd) {
				found = append(found, foundPipeline{PRD: prd, Path: filepath.Join(dir, entry.Name())})
			}
		}
	}
	slices.SortFunc(found, func(a, b foundPipeline) int { return strings.Compare(a.PRD, b.PRD) })
	return found, nil
}

// KnownPRDs returns the ids that have a pipeline, for suggestions and completion.
func KnownPRDs(env *cli.Environment, cfg *config.Config) []string {
	found, err := FindPipelines(env, cfg)
	if err != nil {
		return nil // a suggestion is not worth an error
	}
	ids := make([]string, 0, len(found))
	for _, f := range found {
		ids = append(ids, f.PRD)
	}
	return ids
}

// ReadSource reads a file in HCL: a pipeline, or values of variables.
func ReadSource(path string) ([]byte, error) {
	source, err := cli.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, advice.Usagef("there is no file %s", path)
	case err != nil:
		return nil, advice.Usagef("read the pipeline: %w", err)
	}
	return source, nil
}

// readVariables collects the values of variables. --var overrides --var-file, which
// overrides the environment.
func readVariables(env *cli.Environment, ref PipelineRef) (map[string]pipeline.Input, hcl.Diagnostics, error) {
	inputs := make(map[string]pipeline.Input)
	for _, assignment := range env.Environ {
		name, value, _ := strings.Cut(assignment, "=")
		if variable, found := strings.CutPrefix(name, pipeline.EnvironmentPrefix); found {
			inputs[variable] = pipeline.Input{Text: value, Expression: ref.called, Origin: name}
		}
	}
	var diags hcl.Diagnostics
	for _, file := range ref.VarFiles {
		source, err := ReadSource(env.Path(file))
		if err != nil {
			return nil, nil, err
		}
		// The source stays out of the snippets: it may hold secrets.
		values, more := pipeline.ParseVarFile(source, file)
		diags = append(diags, more...)
		for name, value := range values {
			inputs[name] = value
		}
	}
	for _, assignment := range ref.Vars {
		name, value, found := strings.Cut(assignment, "=")
		if !found || name == "" {
			return nil, nil, advice.With(advice.Usagef("--var must be NAME=VALUE"), "for example --var coverage_floor=75")
		}
		inputs[name] = pipeline.Input{Text: value, Origin: "--var"}
	}
	return inputs, diags, nil
}
