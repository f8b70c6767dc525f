package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
	"prdrunner/pipeline"
)

type fmtOptions struct {
	names []string
	check bool
	diff  bool
}

func newFmtCommand(env *cli.Environment) *cobra.Command {
	var o fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt [FILE|DIR|-]...",
		Short: "Format pipeline files",
		Long: `Format pipeline files in place, and print the names of those that changed. A
directory means the .hcl files in it. Without arguments, format the pipelines in
the directories where Runner looks for them. "-" reads standard input and writes
standard output.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return runFmt(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.check, "check", false, "write nothing; exit 1 if a file would change")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "write nothing; print what would change")
	return cmd
}

func runFmt(ctx context.Context, env *cli.Environment, o fmtOptions) error {
	files, err := o.filesToFormat(env)
	if err != nil {
		return err
	}
	var changed, invalid bool
	for _, file := range files {
		one, err := o.format(ctx, env, file)
		if errors.Is(err, load.ErrDiagnosed) {
			invalid = true
			continue
		}
		if err != nil {
			return err
		}
		changed = changed || one
	}
	switch {
	case invalid:
		return load.ErrDiagnosed
	case changed && o.check:
		return errWouldChange
	}
	return nil
}

// filesToFormat returns the files to format.
func (o fmtOptions) filesToFormat(env *cli.Environment) ([]string, error) {
	names := o.names
	optional := len(names) == 0
	if optional {
		cfg, err := env.LoadConfig()
		if err != nil {
			return nil, err
		}
		names = load.PipelineDirs(env, cfg)
	}
	var files []string
	for _, name := range names {
		if name == advice.StandardStream {
			files = append(files, name)
			continue
		}
		path := env.Path(env.FromWorkspace(name))
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && optional:
		case err != nil:
			return nil, advice.Usagef("find what to format: %w", err)
		case !info.IsDir():
			files = append(files, path)
		default:
			inside, err := os.ReadDir(path)
			if err != nil {
				return nil, fmt.Errorf("find what to format: %w", err)
			}
			for _, entry := range inside {
				if !entry.IsDir() && filepath.Ext(entry.Name()) == config.PipelineExtension {
					files = append(files, filepath.Join(path, entry.Name()))
				}
			}
		}
	}
	return files, nil
}

// format formats one file and reports whether that changes it.
func (o fmtOptions) format(ctx context.Context, env *cli.Environment, path string) (bool, error) {
	source, name, err := o.readSource(ctx, env, path)
	if err != nil {
		return false, err
	}
	if diags := syntaxDiagnostics(source, name); diags.HasErrors() {
		if err := env.PrintDiagnostics(map[string][]byte{name: source}, diags); err != nil {
			return false, err
		}
		return false, load.ErrDiagnosed
	}
	formatted := pipeline.Format(source)
	changed := !bytes.Equal(source, formatted)
	switch {
	case changed && o.diff:
		if _, err := env.BytesOut().Write(diff.Diff(name, source, name+" (formatted)", formatted)); err != nil {
			return changed, fmt.Errorf("print the difference: %w", err)
		}
	case changed && o.check:
		fmt.Fprintln(env.Stdout, name)
	case o.check || o.diff:
	case path == advice.StandardStream:
		if _, err := env.BytesOut().Write(formatted); err != nil {
			return changed, fmt.Errorf("print the formatted text: %w", err)
		}
	case changed:
		if err := replaceFile(path, formatted); err != nil {
			return changed, fmt.Errorf("format %s: %w", name, err)
		}
		fmt.Fprintln(env.Stdout, name)
	}
	return changed, nil
}

// readSource returns the text of a file, and the name that messages show.
func (o fmtOptions) readSource(ctx context.Context, env *cli.Environment, path string) ([]byte, string, error) {
	if path != advice.StandardStream {
		source, err := load.ReadSource(path)
		return source, env.Display(path), err
	}
	source, err := io.ReadAll(env.Input(ctx))
	if err != nil {
		return nil, "", fmt.Errorf("read standard input: %w", err)
	}
	return source, "standard input", nil
}

// syntaxDiagnostics returns the syntax errors that prevent a text from being formatted. It
// does not check the meaning of blocks and attributes.
func syntaxDiagnostics(source []byte, name string) hcl.Diagnostics {
	_, diags := pipeline.Parse(source, name)
	if !diags.HasErrors() {
		return nil
	}
	for _, diag := range diags {
		// Parse refuses texts that would crash the recursive parser.
		if diag.Summary == "Nesting too deep" || diag.Summary == "File too large" {
			return diags
		}
	}
	_, diags = hclsyntax.ParseConfig(source, name, hcl.InitialPos)
	return diags
}

// replaceFile replaces the contents of a file atomically, and keeps its mode. It follows
// symbolic links.
func replaceFile(path string, data []byte) (err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(info.Mode().Perm()), temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
