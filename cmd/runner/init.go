package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
)

//go:embed templates/pipeline.hcl.tmpl
var pipelineTemplate string

//go:embed templates/runner.yaml
var configTemplate string

type initOptions struct {
	prd   string
	title string
}

func newInitCommand(env *cli.Environment) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:         "init [PRD]",
		Annotations: map[string]string{cli.WorksHere: "true"},
		Short:       "Write a first pipeline and a runner.yaml",
		Long: `Write a first pipeline, with comments that explain it, and a runner.yaml with the
default settings. The pipeline can be run as it is. Existing files are never
overwritten; an existing configuration is kept.`,
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
	return cmd
}

func runInit(_ context.Context, env *cli.Environment, o initOptions) error {
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
	path := env.Path(o.prd + config.PipelineExtension)
	if err := writeNew(path, o.pipeline()); errors.Is(err, fs.ErrExist) {
		return alreadyThere(env, o, path)
	} else if err != nil {
		return fmt.Errorf("write a pipeline: %w", err)
	}
	fmt.Fprintf(env.Stdout, "wrote %s\n", env.Display(path))
	if err := writeConfig(env); err != nil {
		return err
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

// pipeline returns the text of the pipeline.
func (o initOptions) pipeline() string {
	title := o.title
	if title == "" {
		title = o.prd
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
