package cli

import (
	"context"
	"fmt"
	"os"

	"prdrunner/cmd/runner/advice"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// Terminal returns the terminal at which the user can be asked, nil without one. A command
// calls it once, because two readers of one input would take each other's lines.
func (e *Environment) Terminal() *view.Terminal {
	if !e.interactive() {
		return nil
	}
	t := view.NewTerminal(e.Stdin, e.Stderr.Raw, e.Actor(), e.Color(e.Stderr))
	if f, ok := e.Stdin.(*os.File); ok {
		t.Discard = func() { discardTyped(f) }
		t.Ready = func(ctx context.Context, again func()) error { return awaitLine(ctx, f, again) }
	}
	return t
}

// Confirm asks before a command discards something. Without --yes and without a terminal
// it returns an error that names --yes.
func Confirm(ctx context.Context, person *view.Terminal, yes bool, question string) error {
	if yes {
		return nil
	}
	if person == nil {
		return advice.With(advice.Usagef("there is no terminal to ask at: %s", question), "add --yes")
	}
	ok, err := person.Confirm(ctx, question)
	if err != nil {
		return err
	}
	if !ok {
		return runner.ErrDeclined
	}
	return nil
}

// longRestore is the number of files from which restoring takes long enough for the user
// to wonder.
const longRestore = 100

// AnnounceRestore tells the user at a terminal that files are being restored, if that
// takes a while.
func AnnounceRestore(env *Environment, count int, asJSON bool) {
	quiet := env.Options.Output == string(view.Quiet) || env.Options.Output == string(view.JSON)
	if count >= longRestore && !asJSON && !quiet && env.IsTerminal(env.Stderr) {
		fmt.Fprintf(env.Stderr, "Restoring %s…\n", view.Plural(count, "file"))
	}
}
