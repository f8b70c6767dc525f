// Package lsp is the command `runner lsp`, a language server for pipelines, which editors start. Begin with [NewCommand].
//
// What an editor asks belongs here. What a mistake is and what may stand where, package pipeline says, and what each
// argument means is taken from its manual: nothing is described twice.
//
//   - server.go: the requests, and the open documents;
//   - protocol.go: the messages;
//   - text.go, source.go, cursor.go, outline.go: a document, and where something is in it;
//   - workspace.go: the files around a document;
//   - check.go: mistakes, and what mends them;
//   - complete.go, describe.go, manual.go, navigate.go: what can be written, what it means, where it is declared.
package lsp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"runtime/debug"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
)

// NewCommand returns the command.
func NewCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Help editors with pipelines",
		Long: `Talk to an editor about pipelines, by the Language Server Protocol on standard input and
output: mistakes as you type, completion, what a word means, where something is
declared and used, renaming, formatting, and corrections of misspelled names. Editors
start this command; "runner help editors" says how to set up some.`,
		Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if env.IsTerminal(env.Stdin) {
				return advice.With(advice.Usagef("an editor starts this command, and a person can't talk to it"), "`runner help editors` says how to set up an editor")
			}
			return serve(cmd.Context(), env)
		},
	}
}

// streams are standard input and output as one stream.
type streams struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer.
func (streams) Close() error { return nil }

// codec reads and writes messages. It records the error of a broken message. It reports an error only after all requests have
// been answered, because the connection sends nothing after that.
type codec struct {
	jsonrpc2.VSCodeObjectCodec
	server *server
}

// ReadObject implements jsonrpc2.ObjectCodec.
func (c codec) ReadObject(from *bufio.Reader, message any) error {
	err := c.VSCodeObjectCodec.ReadObject(from, message)
	if err == nil {
		return nil
	}
	<-c.server.newest
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		c.server.broken = err
	}
	return err
}

// ErrAway reports that the editor ended the connection without the message for that.
var ErrAway = errors.New("the editor went away without a farewell")

// garbage is how much garbage may accumulate, in percent of the memory in use. With less, collecting it takes a third of the time
// in which a large file is formatted.
const garbage = 300

// serve answers an editor until it goes away.
func serve(ctx context.Context, env *cli.Environment) error {
	env.Signals.ResumeWith("") // who stops a language server leaves nothing to do
	if env.Lookup("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	s := newServer(env)
	ctx, stop := context.WithCancel(ctx)
	defer s.wait()
	defer stop()
	stream := jsonrpc2.NewBufferedStream(streams{env.Stdin, env.Stdout.Raw}, codec{server: s})
	silent := jsonrpc2.SetLogger(log.New(io.Discard, "", 0)) // what ends the connection is returned below
	conn := jsonrpc2.NewConn(ctx, stream, s, silent)
	s.begin(ctx, conn)
	select {
	case <-conn.DisconnectNotify():
	case <-s.exited:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.shutDown || ctx.Err() != nil:
		return nil
	case s.broken != nil:
		return advice.Usagef("the editor sent what is no message of the Language Server Protocol: %w", s.broken)
	}
	return ErrAway
}
