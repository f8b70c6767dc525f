// Copyright the authors of Runner.

package commands

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func program() *Command {
	add := &Command{Name: "add", Short: "Add a number", Run: func(args []string, out io.Writer) error {
		_, err := fmt.Fprintln(out, "added", strings.Join(args, ", "))
		return err
	}}
	list := &Command{Name: "list", Short: "List the numbers"}
	return &Command{Commands: []*Command{{Name: "numbers", Short: "Work on numbers", Commands: []*Command{add, list}}}}
}

func TestExecute(t *testing.T) {
	for _, tt := range []struct{ args, want, err string }{
		{"numbers add 3 4", "added 3, 4\n", ""},
		{"numbers", "calc numbers add\tAdd a number\ncalc numbers list\tList the numbers\n", ""},
		{"", "calc numbers\tWork on numbers\n", ""},
		{"numbers ad", "", `calc numbers has no command "ad"; did you mean "add"?`},
		{"multiply", "", `calc has no command "multiply"`},
	} {
		var out strings.Builder
		err := program().Execute(append([]string{filepath.Join("bin", "calc")}, strings.Fields(tt.args)...), &out)
		if out.String() != tt.want || (err != nil || tt.err != "") && fmt.Sprint(err) != tt.err {
			t.Errorf("%q gives %q, %v, want %q, %s", tt.args, out.String(), err, tt.want, tt.err)
		}
	}
}
