package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline"
	"prdrunner/runner/view"
)

// environment holds everything that one command line works with. Nothing below main
// touches the process's own streams, environment or clock in any other way.
type environment struct {
	args       []string // without the program's name
	environ    []string // "NAME=value"
	stdin      io.Reader
	stdout     *show.Screen
	stderr     *show.Screen
	now        func() time.Time
	isTerminal func(stream any) bool
	abs        func(path string) (string, error) // makes a path absolute; relative paths are relative to the working directory

	advice.CommandLine
	options globalOptions
	flags   *pflag.FlagSet // of the running command
	running bool           // the command line was valid, and the command's own code has begun
	typedIn string         // the directory in which the user typed the command; absolute; "" if it is the workspace
	signals signals        // ask this process to end

	config   *config.Config // set by loadConfig
	log      hclog.Logger   // set by logger
	warning  sync.Mutex     // guards warnings
	warnings []error        // printed after the command's result

	report *pipeline.Report // the diagnostics that were printed, nil if none were
}

// globalOptions are the flags that every command takes.
type globalOptions struct {
	logLevel  string
	logFormat string
	output    string
	noColor   bool
}

// processEnvironment returns the environment of this process.
func processEnvironment() *environment {
	return &environment{
		args:       os.Args[1:],
		environ:    os.Environ(),
		stdin:      os.Stdin,
		stdout:     show.NewScreen(os.Stdout),
		stderr:     show.NewScreen(os.Stderr),
		now:        time.Now,
		isTerminal: isTerminal,
		abs:        filepath.Abs,
	}
}

// warn records a warning. Warnings are printed after the result of the command, which
// matters more.
func (e *environment) warn(err error) {
	e.warning.Lock()
	defer e.warning.Unlock()
	e.warnings = append(e.warnings, err)
}

func isTerminal(stream any) bool {
	if s, ok := stream.(*show.Screen); ok {
		stream = s.Raw
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// begin reads the global flags of the command that is about to run, and finds the
// workspace.
func (e *environment) begin(cmd *cobra.Command) error {
	e.flags = cmd.Flags()
	dir, err := e.abs(e.DirFlag)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return advice.Usagef("-C %s: no such directory", e.DirFlag)
	case err != nil:
		return advice.Usagef("-C %s: %w", e.DirFlag, err)
	case !info.IsDir():
		return advice.Usagef("-C %s: not a directory", e.DirFlag)
	}
	e.Workdir = dir
	e.findAbove(cmd)
	return nil
}

// path makes a path of the command line absolute. A relative path is relative to the
// workspace.
func (e *environment) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(e.Workdir, name)
}

// inWorkspace returns the path of a file relative to the workspace, with slashes, or "" if
// the file is outside the workspace.
func (e *environment) inWorkspace(name string) string {
	rel, err := filepath.Rel(e.Workdir, e.path(name))
	if name == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// lookup returns the value of an environment variable, "" if it is not set.
func (e *environment) lookup(name string) string {
	for _, entry := range e.environ {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

// interactive reports whether Runner can ask the user: standard input and standard error
// are terminals, and this process is in the foreground, so that the terminal lets it read.
func (e *environment) interactive() bool {
	if f, ok := e.stdin.(*os.File); ok && e.isTerminal(f) && !inForeground(f) {
		return false
	}
	return e.isTerminal(e.stdin) && e.isTerminal(e.stderr)
}

// color reports whether output to a stream is coloured.
func (e *environment) color(stream *show.Screen) bool {
	return !e.options.noColor && e.lookup("NO_COLOR") == "" && e.lookup("TERM") != "dumb" && e.isTerminal(stream)
}

// width returns the number of columns of a stream, 80 if it is not a terminal.
func (e *environment) width(stream *show.Screen) int {
	const standard = 80
	f, ok := stream.Raw.(*os.File)
	if !ok || !e.isTerminal(stream) {
		return standard
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return standard
	}
	return width
}

// logger returns the logger. It writes to standard error, from the level that --log-level
// names.
func (e *environment) logger() hclog.Logger {
	if e.log == nil {
		color, out, asJSON := hclog.ColorOff, io.Writer(e.stderr), e.options.logFormat == "json"
		switch {
		case asJSON:
			out = view.JSONCleaner{W: e.stderr.Raw}
		case e.color(e.stderr): // the logger quotes its values itself
			color, out = hclog.ForceColor, e.stderr.Raw
		}
		e.log = hclog.New(&hclog.LoggerOptions{
			Name:       "runner",
			Level:      hclog.LevelFromString(e.options.logLevel),
			Output:     out,
			JSONFormat: asJSON,
			Color:      color,
			TimeFn:     e.now,
		})
	}
	return e.log
}

// actor returns the user, the host and the process on whose behalf Runner acts, for its
// records.
func (e *environment) actor() state.Actor {
	a := state.Actor{PID: os.Getpid()}
	if host, err := os.Hostname(); err == nil {
		a.Host = host
	}
	if u, err := user.Current(); err == nil {
		a.User = u.Username
	} else {
		a.User = e.lookup("USER")
	}
	return a
}

// loadConfig reads the configuration, once per process.
func loadConfig(env *environment) (*config.Config, error) {
	if env.config != nil {
		return env.config, nil
	}
	from := config.Sources{Workspace: env.Workdir, Environ: env.environ, Flags: env.flags, Display: env.Display, Read: readRegular}
	if env.ConfigFlag != "" {
		from.File = env.path(env.ConfigFlag)
	}
	cfg, err := config.Load(from)
	var mistakes *config.Error
	if errors.As(err, &mistakes) {
		return nil, advice.With(err, "`runner config --defaults` lists every key")
	}
	if err != nil {
		return nil, err
	}
	env.config = cfg
	return cfg, nil
}

// bytesOut returns standard output for the contents of files. On a terminal the contents
// are made harmless; a program receives them unchanged.
func (e *environment) bytesOut() io.Writer {
	if e.isTerminal(e.stdout) {
		return e.stdout
	}
	return e.stdout.Raw
}
