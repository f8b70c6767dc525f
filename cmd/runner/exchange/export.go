// Package exchange carries out `checkpoint export --format` and `checkpoint import
// --format`. [Export] finds the session and writes the files; [Import] finds the pipeline
// and places the document. Package checkpoint/exchange knows the formats.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

// exportIdle is for how long nothing was written to the temporary directory of an export
// that was killed.
const exportIdle = time.Hour

// ExportOptions say what to export.
type ExportOptions struct {
	PRD     string
	Session string // the id of an archived session; "": the current one
	Format  string
	Out     string // "": in the directory of the PRD
	JSON    bool
}

// Export writes a session in the format of another tool.
func Export(_ context.Context, env *cli.Environment, o ExportOptions) error {
	format, err := exchange.ParseFormat(o.Format)
	if err != nil {
		return &advice.UsageError{Err: err}
	}
	switch {
	case o.Out != advice.StandardStream:
	case o.JSON:
		return advice.Usagef("--json and -o - both want standard output")
	case format.IsDirectory():
		return advice.With(advice.Usagef("-o -: the format %s has several files", format), "name a directory that does not exist")
	}
	source, at, err := o.source(env)
	if err != nil {
		return err
	}
	if o.Out == advice.StandardStream {
		_, err := exchange.Export(format, source, func(f exchange.File) error {
			_, err := env.Stdout.Raw.Write(f.Data)
			return err
		})
		return err
	}
	path := env.Path(o.Out)
	if o.Out == "" {
		path = at
	}
	done, err := exportTo(path, o.Out == "", format, source)
	if err != nil {
		return err
	}
	report := info.NewExchangeExport(source.State, string(format), path, done)
	if o.JSON {
		return show.JSON(env.Stdout, report)
	}
	return show.ExchangeExported(env.Stdout, env.CommandLine, report)
}

// source returns the session, and where it is exported to without -o.
func (o ExportOptions) source(env *cli.Environment) (s exchange.Source, path string, err error) {
	store, err := load.OpenAnyStore(env, o.PRD)
	if err != nil {
		return s, "", err
	}
	var session reader.Session
	if o.Session == "" {
		if store, s.State, err = load.State(env, o.PRD); err != nil {
			return s, "", err
		}
		session = store.Reader().CurrentSession(o.PRD)
	} else {
		archived, err := store.Reader().ArchivedSession(o.PRD, o.Session)
		if err != nil {
			return s, "", advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("`runner checkpoint list %s --all` shows them", o.PRD))
		}
		s.State, session = archived.State, store.Reader().Session(o.PRD, archived.Dir)
	}
	s.Load = func(ref *state.CheckpointRef) (*disk.CheckpointFile, error) {
		return session.ReadCheckpoint(s.State, ref)
	}
	name := fmt.Sprintf("%s-%s-%d.%s", disk.EncodeName(o.PRD), state.ShortSession(s.State.Session), s.State.Seq, o.Format)
	if !exchange.Format(o.Format).IsDirectory() {
		name += disk.JSONExt
	}
	return s, filepath.Join(store.Layout().PRDDir(o.PRD), disk.ExportsDir, name), nil
}

// exportTo writes an export to path: a file, or a directory if the format has several files.
// With replace, it removes an earlier export at path. The export is written to a temporary
// directory and renamed when it is whole, so that no other process sees a part of it.
func exportTo(path string, replace bool, format exchange.Format, source exchange.Source) (done *exchange.Exported, err error) {
	if err := checkFree(path, replace); err != nil {
		return nil, err
	}
	if replace {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	_ = store.RemoveTempsOf(store.OS(), path, time.Now().Add(-exportIdle)) // what can't be removed does no harm
	dir := store.TempName(path)
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrNotExist) {
		return nil, advice.With(&advice.UsageError{Err: err}, "make the directory first: `mkdir -p "+text.ShellWord(filepath.Dir(path))+"`")
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	whole := dir
	done, err = exchange.Export(format, source, func(f exchange.File) error {
		if !format.IsDirectory() {
			whole = filepath.Join(dir, f.Name)
		}
		return writeFile(dir, f)
	})
	if err != nil {
		return nil, err
	}
	if replace {
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
	} else if err := removeEmpty(path); err != nil {
		return nil, err
	}
	if err := os.Rename(whole, path); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if err := store.OS().SyncDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return done, nil
}

// writeFile writes a file of an export durably. On a file system without symbolic links it
// leaves out a link: the index names the same file.
func writeFile(dir string, f exchange.File) error {
	name := filepath.Join(dir, f.Name)
	if filepath.Base(name) != f.Name { // a damaged journal can hold any id
		return fmt.Errorf("%q can't be the name of a file", f.Name)
	}
	return store.Write(store.OS(), store.Entry{Path: name, Data: [][]byte{f.Data}, Target: f.Link})
}

// checkFree refuses a path at which something is, except for an empty directory.
func checkFree(path string, replace bool) error {
	info, err := os.Lstat(path)
	switch {
	case replace || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &advice.UsageError{Err: err}
	case info.IsDir():
		entries, err := os.ReadDir(path)
		if err == nil && len(entries) == 0 {
			return nil
		}
	}
	return advice.With(advice.Usagef("-o: %s exists", path), "name another path, or remove that one first")
}

func removeEmpty(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
