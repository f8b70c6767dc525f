package main

import (
	"context"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline/diagnostics"
)

type validateOptions struct {
	ref   load.PipelineRef
	prds  []string
	files []string
	json  bool
}

func newValidateCommand(env *cli.Environment) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [PRD|FILE]...",
		Short: "Check pipelines and report every mistake",
		Long: `Check pipelines and report every mistake. Without arguments, check all pipelines
that Runner finds. Nothing is run or written. Variables need no values: what
depends on a missing value is checked as far as possible.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prds = args
			return runValidate(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringArrayVarP(&o.files, "file", "f", nil, "check the pipeline in `FILE`; may be repeated")
	o.ref.AddVariableFlags(cmd)
	o.ref.AddStrictFlag(cmd)
	o.ref.AllowUnset = true
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object, for editors and CI")
	return cmd
}

func runValidate(_ context.Context, env *cli.Environment, o validateOptions) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	refs, err := o.pipelineRefs(env, cfg)
	if err != nil {
		return err
	}
	var results []*load.PipelineResult
	for _, ref := range refs {
		read, err := load.ReadPipeline(env, cfg, ref)
		if err != nil {
			return err
		}
		results = append(results, read)
	}
	if o.json {
		return showValidatedJSON(env, o, results)
	}
	return showValidated(env, o, results)
}

// pipelineRefs returns the pipelines to check.
func (o validateOptions) pipelineRefs(env *cli.Environment, cfg *config.Config) ([]load.PipelineRef, error) {
	var refs []load.PipelineRef
	add := func(prd, file string) {
		ref := o.ref
		ref.PRD, ref.File = prd, file
		refs = append(refs, ref)
	}
	for _, argument := range o.prds {
		var named load.PipelineRef
		named.SetName(env, argument)
		add(named.PRD, named.File)
	}
	for _, file := range o.files {
		add("", file)
	}
	if len(refs) > 0 {
		return refs, nil
	}
	found, err := load.FindPipelines(env, cfg)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		add(f.PRD, f.Path)
	}
	if len(refs) == 0 {
		return nil, load.NoPipelines(env, cfg)
	}
	return refs, nil
}

func showValidated(env *cli.Environment, o validateOptions, results []*load.PipelineResult) error {
	if err := env.PrintDiagnostics(joined(results)); err != nil {
		return err
	}
	invalid := false
	for _, read := range results {
		if read.Diagnostics.HasErrors() {
			invalid = true
			continue
		}
		show.ValidPipeline(env.Stdout, info.NewPipelineReport(read.File, read.Pipeline))
	}
	if invalid {
		return load.ErrDiagnosed
	}
	return nil
}

func showValidatedJSON(env *cli.Environment, o validateOptions, results []*load.PipelineResult) error {
	pipelines := []info.PipelineReport{}
	for _, read := range results {
		pipelines = append(pipelines, validated(read))
	}
	out := info.PipelinesReport{Report: diagnostics.NewReport(joined(results)), Pipelines: pipelines}
	if err := show.JSON(env.Stdout, out); err != nil {
		return err
	}
	if !out.Valid {
		return load.ErrDiagnosed
	}
	return nil
}

// joined returns the diagnostics of all pipelines, with the files that they are about. A
// mistake in a file that several pipelines include is reported once.
func joined(results []*load.PipelineResult) (map[string][]byte, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	sources := make(map[string][]byte)
	for _, read := range results {
		diags = append(diags, read.Diagnostics...)
		maps.Copy(sources, read.Sources)
	}
	return sources, diags
}

// validated returns the JSON form of a pipeline that was checked.
func validated(read *load.PipelineResult) info.PipelineReport {
	if read.Diagnostics.HasErrors() {
		return info.NewPipelineReport(read.File, nil)
	}
	return info.NewPipelineReport(read.File, read.Pipeline)
}
