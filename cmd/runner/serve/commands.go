package serve

import (
	"bytes"
	"context"
	"io"
	"strings"

	"prdrunner/checkpoint/text"
)

// Commands are the commands of Runner, which pages show and forms ask for.
type Commands struct {
	// Run runs a command line in this process. What the command prints goes to out, with colours. It returns the exit code.
	Run func(ctx context.Context, out io.Writer, args ...string) (code int)
	// ExitCode returns the exit code of a command that ends with err.
	ExitCode func(err error) int
}

// exitNotFound is the exit code of a command that finds no such name.
const exitNotFound = 2

// mostPrinted is how much of what a command prints a page shows, in bytes.
const mostPrinted = 4 << 20

// printout keeps the beginning of what a command prints, or its end.
type printout struct {
	end  bool // keep the end
	kept bytes.Buffer
	cut  bool
}

// Write implements io.Writer.
func (p *printout) Write(b []byte) (int, error) {
	p.kept.Write(b)
	if over := p.kept.Len() - mostPrinted; over > 0 {
		p.cut = true
		if p.end {
			p.kept.Next(over)
		} else {
			p.kept.Truncate(mostPrinted)
		}
	}
	return len(b), nil
}

// run runs a command, and returns what it printed and its exit code. Of a long text it returns the beginning, of a long log the
// end.
func (s *server) run(ctx context.Context, args ...string) (printed string, code int) {
	out := printout{end: args[0] == "logs"}
	code = s.commands.Run(ctx, &out, args...)
	printed = out.kept.String()
	note := "There is more: " + s.commandLine(args) + " prints all of it."
	switch {
	case out.cut && out.end:
		printed = note + "\n\n" + printed
	case out.cut:
		printed += "\n\n" + note + "\n"
	}
	return printed, code
}

// commandLine returns a command as the user would type it.
func (s *server) commandLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = text.ShellWord(arg)
	}
	return s.env.Command(strings.Join(words, " "))
}
