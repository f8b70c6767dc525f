package main

import (
	"context"
	"io"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline"
)

type validateOptions struct {
	ref    pipelineRef
	prds   []string
	files  []string
	json   bool
	env    *cli.Environment
	stdout io.Writer
}

func newValidateCommand(env *cli.Environment) *cobra.Command {
	o := validateOptions{env: env, stdout: env.Stdout}
	cmd := &cobra.Command{
		Use:   "validate [PRD|FILE]...",
		Short: "Check pipelines and report every mistake",
		Long: `Check pipelines and report every mistake. Without arguments, check all pipelines
that Runner finds. Nothing is run or written. Variables need no values: what
depends on a missing value is checked as far as possible.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prds = args
			return runValidate(cmd.Context(), o)
		},
	}
	cmd.Flags().StringArrayVarP(&o.files, "file", "f", nil, "check the pipeline in `FILE`; may be repeated")
	o.ref.addVariableFlags(cmd)
	o.ref.addStrictFlag(cmd)
	o.ref.open = true
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object, for editors and CI")
	return cmd
}

func runValidate(_ context.Context, o validateOptions) error {
	cfg, err := o.env.LoadConfig()
	if err != nil {
		return err
	}
	refs, err := o.refs(cfg)
	if err != nil {
		return err
	}
	var results []*readResult
	for _, ref := range refs {
		read, err := readPipeline(o.env, cfg, ref)
		if err != nil {
			return err
		}
		results = append(results, read)
	}
	if o.json {
		return showValidatedJSON(o, results)
	}
	return showValidated(o, results)
}

// refs returns the pipelines to check.
func (o validateOptions) refs(cfg *config.Config) ([]pipelineRef, error) {
	var refs []pipelineRef
	add := func(prd, file string) {
		ref := o.ref
		ref.prd, ref.file = prd, file
		refs = append(refs, ref)
	}
	for _, argument := range o.prds {
		var named pipelineRef
		named.name(o.env, argument)
		add(named.prd, named.file)
	}
	for _, file := range o.files {
		add("", file)
	}
	if len(refs) > 0 {
		return refs, nil
	}
	found, err := findPipelines(o.env, cfg)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		add(f.prd, f.path)
	}
	if len(refs) == 0 {
		return nil, noPipelines(o.env, cfg)
	}
	return refs, nil
}

func showValidated(o validateOptions, results []*readResult) error {
	invalid := false
	for _, read := range results {
		if err := printDiagnostics(o.env, read.sources, read.diagnostics); err != nil {
			return err
		}
		if read.diagnostics.HasErrors() {
			invalid = true
			continue
		}
		show.ValidPipeline(o.stdout, show.NewPipelineReport(read.file, read.pipeline))
	}
	if invalid {
		return errDiagnosed
	}
	return nil
}

func showValidatedJSON(o validateOptions, results []*readResult) error {
	var all hcl.Diagnostics
	sources := make(map[string][]byte)
	pipelines := []show.PipelineReport{}
	for _, read := range results {
		pipelines = append(pipelines, validated(read))
		all = append(all, read.diagnostics...)
		maps.Copy(sources, read.sources)
	}
	out := show.PipelinesReport{Report: pipeline.DiagnosticsJSON(sources, all), Pipelines: pipelines}
	if err := show.JSON(o.stdout, out); err != nil {
		return err
	}
	if !out.Valid {
		return errDiagnosed
	}
	return nil
}

// validated returns the JSON form of a pipeline that was checked.
func validated(read *readResult) show.PipelineReport {
	if read.diagnostics.HasErrors() {
		return show.NewPipelineReport(read.file, nil)
	}
	return show.NewPipelineReport(read.file, read.pipeline)
}
