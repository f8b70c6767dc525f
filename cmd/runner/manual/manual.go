// Package manual writes the manual pages of a command line, in roff, from the help of its
// commands.
//
// A page says nothing that the help does not say. The pages depend on the commands and the
// version only: there is no date in them. Where to begin: Pages. roff.go knows the markup.
package manual

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is a manual page of section 1.
type Page struct {
	Name string // without the section, such as runner-build
	Text []byte
}

// Pages returns a page for the root command and for each command below it that its help
// lists.
func Pages(root *cobra.Command, version string) []Page {
	pages := []Page{{nameOf(root), page(root, version)}}
	for _, child := range root.Commands() {
		if !child.Hidden {
			pages = append(pages, Pages(child, version)...)
		}
	}
	return pages
}

// nameOf returns the name of a command's page.
func nameOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func page(cmd *cobra.Command, version string) []byte {
	cmd.InitDefaultHelpFlag()
	r := &roff{}
	r.title(nameOf(cmd), cmd.Root().Name()+" "+version)
	r.section("NAME")
	r.line(nameOf(cmd) + " - " + lowerFirst(cmd.Short))
	r.section("SYNOPSIS")
	r.bold(cmd.CommandPath(), strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath()))
	if cmd.Long != "" {
		r.section("DESCRIPTION")
		r.text(cmd.Long)
	}
	if cmd.HasAvailableSubCommands() {
		r.section("COMMANDS")
		for _, child := range cmd.Commands() {
			if !child.Hidden {
				r.item(nameOf(child)+"(1)", child.Short)
			}
		}
	}
	flags(r, "OPTIONS", cmd.NonInheritedFlags())
	flags(r, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		r.section("EXAMPLES")
		r.verbatim(strings.Split(strings.TrimRight(cmd.Example, "\n"), "\n"))
	}
	if cmd.HasParent() {
		r.section("SEE ALSO")
		r.line(nameOf(cmd.Parent()) + "(1)")
	}
	return r.Bytes()
}

// flags writes a section with the flags of a set.
func flags(r *roff, heading string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	r.section(heading)
	set.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(flag)
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", " + name
		}
		switch {
		case value == "":
		case flag.NoOptDefVal != "":
			name += "[=" + value + "]"
		default:
			name += " " + value
		}
		r.item(name, usage)
	})
}

// lowerFirst makes the first letter of a sentence small, as in the NAME of a page.
func lowerFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// roff is a page that is being written.
type roff struct{ bytes.Buffer }
