// Package cli is the process around a command: its arguments, streams, environment
// variables, clock and signals, the workspace in which it works, and the user at its
// terminal.
//
// What a command takes from the process belongs here, so that a test can give it
// something else. What a command does with it and how an answer looks do not: the
// commands decide, and package show prints. Where to begin:
//
//   - Environment holds all of it; ThisProcess returns the one of this process;
//   - Environment.Begin finds the workspace, and Environment.LoadConfig reads its
//     configuration;
//   - Confirm asks before a command discards something;
//   - Signals ends a command when a signal asks for that, and hands the signals to a run;
//   - ReadFile reads a file that the user names, and waits for nothing;
//   - Arguments and Enum say what a command accepts as arguments and flags; NewGroup returns
//     a command that only holds others;
//   - WithoutText repeats the command line in a message or a hint.
package cli

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
	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline/diagnostics"
	"prdrunner/runner/view"
)

// Environment holds everything that one command line works with. Nothing below main
// touches the process's own streams, environment or clock in any other way.
type Environment struct {
	Version    string   // of Runner
	Args       []string // without the program's name
	Environ    []string // "NAME=value"
	Stdin      io.Reader
	Stdout     *show.Screen
	Stderr     *show.Screen
	Now        func() time.Time
	IsTerminal func(stream any) bool
	Executable func() (string, error)            // the path of this program
	Abs        func(path string) (string, error) // makes a path absolute; relative paths are relative to the working directory

	advice.CommandLine
	Options Options
	flagSet *pflag.FlagSet // of the running command
	Running bool           // the command line was valid, and the command's own code has begun
	TypedIn string         // the directory in which the user typed the command; absolute; "" if it is the workspace
	Callers []string       // the sessions that call the pipeline which this process runs
	Signals Signals        // ask this process to end

	config   *config.Config // set by LoadConfig
	log      hclog.Logger   // set by Logger
	warning  sync.Mutex     // guards warnings
	Warnings []error        // printed after the command's result

	Report *diagnostics.Report // the diagnostics that were printed, nil if none were
	// Annotate returns the line that shows a diagnostic at its place in the sources, "" if it has none.
	// nil: nothing that reads the output does that.
	Annotate func(d *hcl.Diagnostic) string
	// Neutral changes a text in one line so that the CI system that runs Runner takes no part of it for
	// a command. nil: nothing is changed.
	Neutral func(text string) string
	// Painted says that what reads the output shows colours, though it is no terminal.
	Painted bool
}

// Options are the flags that every command takes.
type Options struct {
	LogLevel  string
	LogFormat string
	Output    string
	NoColor   bool
}

// ThisProcess returns the environment of this process.
func ThisProcess() *Environment {
	e := &Environment{
		Args:       os.Args[1:],
		Environ:    os.Environ(),
		Stdin:      os.Stdin,
		Stdout:     show.NewScreen(os.Stdout),
		Stderr:     show.NewScreen(os.Stderr),
		Now:        time.Now,
		IsTerminal: isTerminal,
		Executable: os.Executable,
		Abs:        filepath.Abs,
	}
	for _, s := range []*show.Screen{e.Stdout, e.Stderr} {
		s.Columns = func() int {
			if !e.IsTerminal(s) {
				return 0
			}
			return e.Width(s)
		}
	}
	return e
}

// Aside returns an environment like this one, for another command line in this process. It is no terminal, and what is
// printed goes to w.
func (e *Environment) Aside(w io.Writer, args ...string) *Environment {
	return &Environment{
		Version: e.Version, Args: args, Environ: e.Environ, Stdin: strings.NewReader(""), Stdout: show.NewScreen(w), Stderr: show.NewScreen(w), Now: e.Now,
		IsTerminal: func(any) bool { return false }, Executable: e.Executable, Abs: e.Abs, CommandLine: e.CommandLine, flagSet: e.flagSet, Running: e.Running, TypedIn: e.TypedIn,
	}
}

// GlobalFlags returns the flags of this command line that choose the workspace and the configuration.
func (e *Environment) GlobalFlags() []string {
	var flags []string
	if e.DirFlag != "" {
		flags = append(flags, "-C="+e.DirFlag)
	}
	if e.ConfigFlag != "" {
		flags = append(flags, "--config="+e.ConfigFlag)
	}
	return flags
}

// Warn records a warning. Warnings are printed after the result of the command, which
// matters more.
func (e *Environment) Warn(err error) {
	e.warning.Lock()
	defer e.warning.Unlock()
	e.Warnings = append(e.Warnings, err)
}

func isTerminal(stream any) bool {
	if s, ok := stream.(*show.Screen); ok {
		stream = s.Raw
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Begin reads the global flags of the command that is about to run, and finds the
// workspace.
func (e *Environment) Begin(cmd *cobra.Command) error {
	e.flagSet = cmd.Flags()
	dir, err := e.Abs(e.DirFlag)
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
	e.Stdout.Color, e.Stderr.Color = e.Color(e.Stdout), e.Color(e.Stderr)
	e.findAbove(cmd)
	return nil
}

// Path makes a path of the command line absolute. A relative path is relative to the
// workspace.
func (e *Environment) Path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(e.Workdir, name)
}

// InWorkspace returns the path of a file relative to the workspace, with slashes, or "" if
// the file is outside the workspace.
func (e *Environment) InWorkspace(name string) string {
	rel, err := filepath.Rel(e.Workdir, e.Path(name))
	if name == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// Lookup returns the value of an environment variable, "" if it is not set.
func (e *Environment) Lookup(name string) string {
	for _, entry := range e.Environ {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

// interactive reports whether Runner can ask the user: standard input and standard error
// are terminals, and this process is in the foreground, so that the terminal lets it read.
func (e *Environment) interactive() bool {
	if f, ok := e.Stdin.(*os.File); ok && e.IsTerminal(f) && !inForeground(f) {
		return false
	}
	return e.IsTerminal(e.Stdin) && e.IsTerminal(e.Stderr)
}

// Color reports whether output to a stream is coloured: on a terminal, unless the user or the
// environment says otherwise (https://no-color.org, https://bixense.com/clicolors, FORCE_COLOR), and on a page.
func (e *Environment) Color(stream *show.Screen) bool {
	switch {
	case e.Painted:
		return true
	case e.Options.NoColor || e.Lookup("NO_COLOR") != "":
		return false
	case isOn(e.Lookup("FORCE_COLOR")) || isOn(e.Lookup("CLICOLOR_FORCE")):
		return true
	}
	return e.Lookup("CLICOLOR") != "0" && e.Lookup("TERM") != "dumb" && e.IsTerminal(stream)
}

// isOn reports whether the value of a variable turns something on.
func isOn(value string) bool { return value != "" && value != "0" && value != "false" }

// The size of a terminal that does not say how large it is.
const (
	standardColumns = 80
	standardRows    = 24
)

// Width returns the number of columns of a stream, 80 if it is not a terminal.
func (e *Environment) Width(stream *show.Screen) int {
	columns, _ := e.size(stream)
	return columns
}

// TerminalSize returns a function that returns the size that a terminal has at that moment,
// 0 while this process is in the background. It returns nil if the stream is no terminal on which the
// cursor can be moved.
func (e *Environment) TerminalSize(stream *show.Screen) func() (columns, rows int) {
	if !e.IsTerminal(stream) || e.Lookup("TERM") == "dumb" {
		return nil
	}
	return func() (columns, rows int) {
		if f, ok := stream.Raw.(*os.File); ok && !inForeground(f) {
			return 0, 0
		}
		return e.size(stream)
	}
}

// Rows returns how many rows of a stream an answer may take before it is folded, 0 if the stream is
// no terminal. One row stays for the next command line.
func (e *Environment) Rows(stream *show.Screen) int {
	if !e.IsTerminal(stream) {
		return 0
	}
	_, rows := e.size(stream)
	return rows - 1
}

func (e *Environment) size(stream *show.Screen) (columns, rows int) {
	f, ok := stream.Raw.(*os.File)
	if !ok || !e.IsTerminal(stream) {
		return standardColumns, standardRows
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return standardColumns, standardRows
	}
	return columns, rows
}

// Logger returns the logger. It writes to standard error, from the level that --log-level
// names.
func (e *Environment) Logger() hclog.Logger {
	if e.log == nil {
		color, out, asJSON := hclog.ColorOff, io.Writer(e.Stderr), e.Options.LogFormat == "json"
		switch {
		case asJSON:
			out = view.JSONCleaner{W: e.Stderr.Unchanged()}
		case e.Color(e.Stderr): // the logger quotes its values itself
			color, out = hclog.ForceColor, e.Stderr.Unchanged()
		}
		e.log = hclog.New(&hclog.LoggerOptions{
			Name:       "runner",
			Level:      hclog.LevelFromString(e.Options.LogLevel),
			Output:     out,
			JSONFormat: asJSON,
			Color:      color,
			TimeFn:     e.Now,
		})
	}
	return e.log
}

// Actor returns the user, the host and the process on whose behalf Runner acts, for its
// records.
func (e *Environment) Actor() state.Actor {
	a := state.Actor{PID: os.Getpid()}
	if host, err := os.Hostname(); err == nil {
		a.Host = host
	}
	if u, err := user.Current(); err == nil {
		a.User = u.Username
	} else {
		a.User = e.Lookup("USER")
	}
	return a
}

// LoadConfig reads the configuration, once per process.
func (e *Environment) LoadConfig() (*config.Config, error) {
	if e.config != nil {
		return e.config, nil
	}
	from := config.Sources{Workspace: e.Workdir, Environ: e.Environ, Flags: e.flagSet, Display: e.Display, Read: ReadFile}
	if e.ConfigFlag != "" {
		from.File = e.Path(e.ConfigFlag)
	}
	cfg, err := config.Load(from)
	var mistakes *config.Error
	if errors.As(err, &mistakes) {
		return nil, advice.With(err, "`runner config --defaults` lists every key")
	}
	if err != nil {
		return nil, err
	}
	e.config = cfg
	return cfg, nil
}

// BytesOut returns standard output for the contents of files. On a terminal the contents
// are made harmless; a program receives them unchanged.
func (e *Environment) BytesOut() io.Writer {
	if e.IsTerminal(e.Stdout) {
		return e.Stdout
	}
	return e.Stdout.Raw
}

// PrintDiagnostics prints diagnostics about a pipeline for people. Report holds them after
// that, for a command that prints JSON.
func (e *Environment) PrintDiagnostics(sources map[string][]byte, diags hcl.Diagnostics) error {
	if len(diags) == 0 {
		return nil
	}
	report := diagnostics.NewReport(sources, diags)
	e.Report = &report
	if err := diagnostics.WriteText(e.Stderr.Raw, sources, diags, e.Width(e.Stderr), e.Color(e.Stderr)); err != nil {
		return fmt.Errorf("print diagnostics: %w", err)
	}
	if report.ErrorCount > 0 {
		fmt.Fprintf(e.Stderr, "\nhint: %s\n", explainHint(report.Diagnostics))
	}
	if e.Annotate != nil {
		for _, d := range diags {
			if line := e.Annotate(d); line != "" {
				fmt.Fprintln(e.Stderr.Raw, line)
			}
		}
	}
	return nil
}

// explainHint says how to learn more about the mistakes.
func explainHint(diags []diagnostics.Diagnostic) string {
	for _, d := range diags {
		if d.Code != diags[0].Code {
			return "`runner explain CODE`, with a code in brackets, says more"
		}
	}
	return "`runner explain " + diags[0].Code + "` says more"
}
