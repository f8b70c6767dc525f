package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/scaffold"
)

//go:embed templates/pipeline.hcl.tmpl
var pipelineTemplate string

//go:embed templates/runner.yaml
var configTemplate string

type initOptions struct {
	prd       string
	title     string
	templates []string
}

// exampleTemplate is the pipeline that explains the language, for no project in particular.
const exampleTemplate = "example"

func newInitCommand(env *cli.Environment) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:         "init [PRD]",
		Annotations: map[string]string{cli.WorksHere: "true"},
		Short:       "Write a first pipeline and a runner.yaml",
		Long: `Write a first pipeline, with comments that explain it, and a runner.yaml with the
default settings. Runner looks at the files of the directory: for a project that it
recognises, the pipeline builds and tests it. Otherwise it is an example that explains
the language. On a terminal, Runner asks before it takes a project for what it seems to
be; --template says it. The pipeline can be run as it is. Existing files are never
overwritten; an existing configuration is kept.`,
		Example: `  runner init PRD-001
  runner init PRD-001 --template go,docker
  runner init PRD-001 --template example`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = "PRD-001"
			if len(args) > 0 {
				o.prd = args[0]
			}
			return runInit(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVar(&o.title, "title", "", "title of the pipeline: `TEXT` (default: the PRD id)")
	cmd.Flags().StringSliceVar(&o.templates, "template", nil, "write a pipeline for these kinds of project, `NAMES` of: "+strings.Join(templateNames(), ", "))
	return cmd
}

// templateNames returns what --template takes.
func templateNames() []string {
	names := []string{exampleTemplate}
	for _, k := range scaffold.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

func runInit(ctx context.Context, env *cli.Environment, o initOptions) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	if err := load.CheckPRD(env, cfg, o.prd); err != nil {
		return err
	}
	if existing, err := load.PipelinePath(env, cfg, load.PipelineRef{PRD: o.prd}); err == nil {
		return alreadyThere(env, o, existing)
	}
	found, err := o.project(ctx, env)
	if err != nil {
		return err
	}
	around := env.Around()
	path := env.Path(o.prd + config.PipelineExtension)
	if err := writeNew(path, o.pipeline(found)); errors.Is(err, fs.ErrExist) {
		return alreadyThere(env, o, path)
	} else if err != nil {
		return fmt.Errorf("write a pipeline: %w", err)
	}
	fmt.Fprintf(env.Stdout, "wrote %s, %s\n", env.Display(path), describeTemplate(found))
	if names := scaffold.Workstreams(found); len(names) > 0 {
		fmt.Fprintf(env.Stdout, "its workstreams: %s\n", strings.Join(names, ", ")) // so that one sees what is missing, such as tests
	}
	if err := writeConfig(env); err != nil {
		return err
	}
	if around != "" {
		fmt.Fprintf(env.Stdout, "\nThis directory is a workspace of its own now. Commands that are typed here no longer find the one in %s.\n", around)
	}
	fmt.Fprintf(env.Stdout, "\nNext:\n  %s\n  %s\n", env.Command("validate "+o.prd), env.Command("build "+o.prd))
	return nil
}

func alreadyThere(env *cli.Environment, o initOptions, path string) error {
	return advice.With(advice.Usagef("%s has a pipeline already: %s", o.prd, env.Display(path)),
		"name another PRD, or delete the file first")
}

// writeConfig writes a runner.yaml, unless the workspace has a configuration.
func writeConfig(env *cli.Environment) error {
	existing, err := config.FindFile(filepath.Join(env.Workdir, "runner"))
	if err != nil {
		return err
	}
	if len(existing) > 0 {
		fmt.Fprintf(env.Stdout, "kept %s\n", env.Display(existing[0]))
		return nil
	}
	if err := writeNew(env.Path("runner.yaml"), configTemplate); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	fmt.Fprintln(env.Stdout, "wrote runner.yaml")
	return nil
}

// project returns the kinds of project for which a pipeline is written; none: it is the example.
func (o initOptions) project(ctx context.Context, env *cli.Environment) ([]scaffold.Found, error) {
	found := scaffold.Find(os.DirFS(env.Workdir))
	if len(o.templates) > 0 {
		return o.chosen(found)
	}
	found = slices.DeleteFunc(found, func(f scaffold.Found) bool { return f.Covered })
	person := env.Terminal()
	if len(found) == 0 || person == nil {
		return found, nil
	}
	ok, err := person.Confirm(ctx, fmt.Sprintf("Write a pipeline for %s? Without it, Runner writes an example that explains the language.", describe(found)))
	if err != nil || !ok {
		return nil, err
	}
	return found, nil
}

// chosen returns the kinds that --template names.
func (o initOptions) chosen(found []scaffold.Found) ([]scaffold.Found, error) {
	var all []scaffold.Found
	for _, name := range o.templates {
		i := slices.IndexFunc(found, func(f scaffold.Found) bool { return f.Name == name })
		switch {
		case i >= 0:
			all = append(all, found[i])
		case !slices.Contains(templateNames(), name):
			return nil, advice.With(advice.Usagef("there is no template %q", name), "the templates are: "+strings.Join(templateNames(), ", "))
		case name != exampleTemplate:
			return nil, advice.With(advice.Usagef("this directory does not look like a project for the template %s", name), seen(found))
		case len(o.templates) > 1:
			return nil, advice.Usagef("the template %s stands alone", exampleTemplate)
		}
	}
	return all, nil
}

// seen says for which kinds of project a pipeline can be written.
func seen(found []scaffold.Found) string {
	if len(found) == 0 {
		return "`--template " + exampleTemplate + "` writes a pipeline for no project in particular"
	}
	return "it looks like " + describe(found)
}

// describe lists what was found: Go (go.mod) and Docker (Dockerfile).
func describe(found []scaffold.Found) string {
	var all []string
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s (%s)", f.Title, f.File))
	}
	return text.Enumerate(all)
}

func describeTemplate(found []scaffold.Found) string {
	if len(found) == 0 {
		return "an example that explains the language"
	}
	return "for " + describe(found)
}

// pipeline returns the text of the pipeline.
func (o initOptions) pipeline(found []scaffold.Found) string {
	title := cmp.Or(o.title, o.prd)
	if len(found) > 0 {
		return string(scaffold.Pipeline(o.prd, title, found))
	}
	quoted := string(hclwrite.TokensForValue(cty.StringVal(title)).Bytes())
	return strings.NewReplacer("{{ID}}", o.prd, "{{TITLE}}", quoted).Replace(pipelineTemplate)
}

// writeNew writes a file that must not exist yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
