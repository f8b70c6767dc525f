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

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
	"prdrunner/runner/view"
)

// environment is what one command line has to work with. Nothing below main
// touches the process's own streams, environment or clock in any other way.
type environment struct {
	args       []string // without the program's name
	environ    []string // "NAME=value"
	stdin      io.Reader
	stdout     *screen
	stderr     *screen
	now        func() time.Time
	isTerminal func(stream any) bool
	abs        func(path string) (string, error) // makes a path absolute that is relative to the working directory

	options globalOptions
	flags   *pflag.FlagSet // of the command that runs
	running bool           // the command line was understood, its command runs
	workdir string         // absolute; the workspace
	typedIn string         // absolute; where the command was typed, "" where that is the workspace
	signals signals        // that ask this process to end

	config   *config      // what loadConfig made
	log      hclog.Logger // what logger made
	warning  sync.Mutex   // held while there is one more
	warnings []error      // of what is done, and shown, all the same

	report *pipeline.Report // of the diagnostics that were printed, nil without them
}

// globalOptions are the flags that every command takes.
type globalOptions struct {
	dir       string
	config    string
	logLevel  string
	logFormat string
	output    string
	noColor   bool
}

// processEnvironment is the environment of this process.
func processEnvironment() *environment {
	return &environment{
		args:       os.Args[1:],
		environ:    os.Environ(),
		stdin:      os.Stdin,
		stdout:     newScreen(os.Stdout),
		stderr:     newScreen(os.Stderr),
		now:        time.Now,
		isTerminal: isTerminal,
		abs:        filepath.Abs,
	}
}

// warn keeps a warning until the result of the command was shown, which matters
// more.
func (e *environment) warn(err error) {
	e.warning.Lock()
	defer e.warning.Unlock()
	e.warnings = append(e.warnings, err)
}

func isTerminal(stream any) bool {
	if s, ok := stream.(*screen); ok {
		stream = s.raw
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// begin takes in the global flags of the command that is about to run, and finds
// the workspace.
func (e *environment) begin(cmd *cobra.Command) error {
	e.flags = cmd.Flags()
	dir, err := e.abs(e.options.dir)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usageErrorf("-C %s: no such directory", e.options.dir)
	case err != nil:
		return usageErrorf("-C %s: %w", e.options.dir, err)
	case !info.IsDir():
		return usageErrorf("-C %s: not a directory", e.options.dir)
	}
	e.workdir = dir
	e.findAbove(cmd)
	return nil
}

// path makes a path of the command line absolute: it is relative to the
// workspace.
func (e *environment) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(e.workdir, name)
}

// inWorkspace is a file as the workspace names it, "" where it is outside.
func (e *environment) inWorkspace(name string) string {
	rel, err := filepath.Rel(e.workdir, e.path(name))
	if name == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// display is the short form of a path for messages: relative to the workspace
// where it is inside it.
func (e *environment) display(path string) string {
	rel, err := filepath.Rel(e.workdir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

// lookup returns the value of an environment variable, "" where it is not set.
func (e *environment) lookup(name string) string {
	for _, entry := range e.environ {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

// interactive reports whether a person can be asked: standard input and
// standard error are terminals, of which the first lets this program read.
func (e *environment) interactive() bool {
	if f, ok := e.stdin.(*os.File); ok && e.isTerminal(f) && !inForeground(f) {
		return false
	}
	return e.isTerminal(e.stdin) && e.isTerminal(e.stderr)
}

// color reports whether to colour what is written to the given stream.
func (e *environment) color(stream *screen) bool {
	return !e.options.noColor && e.lookup("NO_COLOR") == "" && e.lookup("TERM") != "dumb" && e.isTerminal(stream)
}

// width is how many columns the given stream has, 80 where it is no terminal.
func (e *environment) width(stream *screen) int {
	const standard = 80
	f, ok := stream.raw.(*os.File)
	if !ok || !e.isTerminal(stream) {
		return standard
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return standard
	}
	return width
}

// logger writes to standard error, from the level that --log-level names.
func (e *environment) logger() hclog.Logger {
	if e.log == nil {
		color, out, asJSON := hclog.ColorOff, io.Writer(e.stderr), e.options.logFormat == "json"
		switch {
		case asJSON:
			out = view.JSONCleaner{W: e.stderr.raw}
		case e.color(e.stderr): // it quotes what it is given
			color, out = hclog.ForceColor, e.stderr.raw
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

// actor is who this process acts for.
func (e *environment) actor() checkpoint.Actor {
	a := checkpoint.Actor{PID: os.Getpid()}
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

// command is how a person types a command for this workspace, with the
// configuration that was named for this one.
func (e *environment) command(rest string) string {
	here := "runner "
	if e.options.dir != "" && e.options.dir != "." {
		here += "-C " + text.ShellWord(e.options.dir) + " "
	}
	if e.options.config != "" {
		here += "--config " + text.ShellWord(e.options.config) + " "
	}
	return here + rest
}

// localize makes the commands in a text, which stand between backquotes, ones
// for this workspace.
func (e *environment) localize(text string) string {
	here := e.command("")
	if strings.Contains(text, "`"+here) && here != "runner " {
		return text // they are already
	}
	return strings.ReplaceAll(text, "`runner ", "`"+here)
}
