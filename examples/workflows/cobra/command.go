// Copyright the authors of Runner.

// Package commands finds the command that an argument list names, and runs it.
package commands

import (
	"fmt"
	"io"
	"strings"
)

// Command is a program, or a command of a program.
type Command struct {
	Name     string
	Short    string // for the help, in a line
	Run      func(args []string, out io.Writer) error
	Commands []*Command
}

// Execute runs what the arguments name: args[0] is the path of the program.
func (c *Command) Execute(args []string, out io.Writer) error {
	path := []string{programName(args[0])}
	for args = args[1:]; len(c.Commands) > 0 && len(args) > 0; args = args[1:] {
		next := c.find(args[0])
		if next == nil {
			return c.unknown(args[0], path)
		}
		c, path = next, append(path, next.Name)
	}
	if c.Run == nil {
		return c.help(path, out)
	}
	return c.Run(args, out)
}

func (c *Command) find(name string) *Command {
	for _, command := range c.Commands {
		if command.Name == name {
			return command
		}
	}
	return nil
}

func (c *Command) help(path []string, out io.Writer) error {
	for _, command := range c.Commands {
		if _, err := fmt.Fprintf(out, "%s %s\t%s\n", strings.Join(path, " "), command.Name, command.Short); err != nil {
			return err
		}
	}
	return nil
}
