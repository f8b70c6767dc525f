package load

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/words"
	"prdrunner/pipeline"
	"prdrunner/runner/process"
)

// openDatabase opens databases that savepoint blocks name. It reads the pipeline of a PRD
// only when a database is needed. ref has the variables that the user set; known is the
// pipeline that the command has read, or nil.
func openDatabase(env *cli.Environment, cfg *config.Config, ref PipelineRef, known *pipeline.Pipeline) func(context.Context, string, string, *objects.Store) (*savepoint.Database, error) {
	return func(_ context.Context, prd, name string, kept *objects.Store) (*savepoint.Database, error) {
		p := known
		if p == nil || p.ID != prd {
			of := ref
			if ref.PRD != prd && ref.PRD != "" {
				of.File = ""
			}
			of.PRD = prd
			var err error
			if p, err = EvaluatedPipeline(env, cfg, of); err != nil {
				return nil, advice.With(fmt.Errorf("find the database %q: %w", name, err), "the url of a savepoint is in the pipeline of "+prd+"; -f names its file, and --var sets its variables")
			}
		}
		return OpenDatabase(env, p, name, kept)
	}
}

// Savepoint returns the savepoint block of a pipeline that has a name.
func Savepoint(p *pipeline.Pipeline, name string) (*pipeline.Savepoint, error) {
	if block := p.Savepoint(name); block != nil {
		return block, nil
	}
	names := make([]string, len(p.Savepoints))
	for i, s := range p.Savepoints {
		names[i] = s.Name
	}
	hint := "a savepoint block in the pipeline names a database"
	if near := words.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(names) > 0 {
		hint = "it has " + text.Enumerate(names)
	}
	return nil, advice.With(advice.Usagef("%s has no savepoint %q", p.ID, name), hint)
}

// OpenDatabase opens the database of a savepoint block of a pipeline.
func OpenDatabase(env *cli.Environment, p *pipeline.Pipeline, name string, kept *objects.Store) (*savepoint.Database, error) {
	block, err := Savepoint(p, name)
	if err != nil {
		return nil, err
	}
	url, _ := block.URL()
	return savepoint.Open(savepoint.Options{
		Name: name, Driver: savepoint.Driver(block.Driver), URL: url, Method: savepoint.Method(block.Method),
		Workspace: env.Workdir, Objects: kept, Commands: process.NewCommander(env.ChildEnvironment()),
	})
}
