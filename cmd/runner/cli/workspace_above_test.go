package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/show"
)

// tree makes files, and directories where the name ends with a slash, in a directory to
// which only this user can write.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestWorkspaceAbove: the nearest directory with something that only a workspace has is
// the workspace, within a git work tree.
func TestWorkspaceAbove(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		names   []string // besides ws/a/b/
		environ string
		want    string
	}{
		"nothing":                {nil, "", "ws/a/b"},
		"a configuration":        {[]string{"ws/runner.toml"}, "", "ws"},
		"no file":                {[]string{"ws/runner.toml/"}, "", "ws/a/b"},
		"nearest":                {[]string{"ws/runner.toml", "ws/a/runner.json"}, "", "ws/a"},
		"itself":                 {[]string{"ws/runner.toml", "ws/a/b/runner.json"}, "", "ws/a/b"},
		"state":                  {[]string{"ws/.runner/locks/"}, "", "ws"},
		"no state":               {[]string{"ws/.runner/locks"}, "", "ws/a/b"},
		"a pipeline":             {[]string{"ws/PRD-001.hcl"}, "", "ws"},
		"pipelines":              {[]string{"ws/pipelines/PRD-001.hcl"}, "", "ws"},
		"no pipeline":            {[]string{"ws/PRD-001.hcl/", "ws/main.hcl", "ws/PRD-002"}, "", "ws/a/b"},
		"other names":            {[]string{"ws/main.hcl"}, "PRDRUNNER_ID_PATTERN=[a-z]+", "ws"},
		"other names only":       {[]string{"ws/PRD-001.hcl"}, "PRDRUNNER_ID_PATTERN=[a-z]+", "ws/a/b"},
		"a mistaken pattern":     {[]string{"ws/PRD-001.hcl"}, "PRDRUNNER_ID_PATTERN=[", "ws/a/b"},
		"the root of a tree":     {[]string{"ws/runner.toml", "ws/.git/"}, "", "ws"},
		"outside of a work tree": {[]string{"ws/runner.toml", "ws/a/.git/"}, "", "ws/a/b"},
		"in a work tree":         {[]string{"ws/runner.toml", "ws/a/b/.git"}, "", "ws/a/b"},
	} {
		root := tree(t, append(test.names, "ws/a/b/")...)
		env := &Environment{Environ: []string{test.environ}}
		if got := env.workspaceAbove(filepath.Join(root, "ws/a/b")); got != filepath.Join(root, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if got := (&Environment{}).workspaceAbove("/"); got != "/" {
		t.Errorf("above the root is %s", got)
	}
}

// TestBegin: files on the command line remain those of the directory in which the user
// typed it, and -C and init do not look above.
func TestBegin(t *testing.T) {
	t.Parallel()
	root := tree(t, "ws/runner.toml", "ws/a/file")
	begin := func(args []string, annotations map[string]string) (*Environment, *cobra.Command, error) {
		env := &Environment{
			Abs:    func(path string) (string, error) { return filepath.Join(root, "ws/a", path), nil },
			Stdout: show.NewScreen(io.Discard), Stderr: show.NewScreen(io.Discard), IsTerminal: func(any) bool { return false },
		}
		cmd := &cobra.Command{Annotations: annotations}
		cmd.Flags().StringVarP(&env.DirFlag, "directory", "C", "", "work in `DIR`")
		cmd.Flags().String("file", "x.hcl", "read `FILE`")
		cmd.Flags().String("other", "", "read another `FILE`")
		cmd.Flags().StringArray("var-file", nil, "read `FILE`")
		cmd.Flags().String("name", "", "`NAME`")
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		return env, cmd, env.Begin(cmd)
	}
	env, cmd, err := begin([]string{"--file=f", "--name=n", "--var-file=-", "--var-file=v", "--var-file=/abs"}, nil)
	if err != nil || env.Workdir != filepath.Join(root, "ws") || env.TypedIn != filepath.Join(root, "ws/a") || env.DirFlag != ".." {
		t.Errorf("%+v: %v", env.CommandLine, err)
	}
	if got := env.FromWorkspace(""); got != "" {
		t.Errorf("no name became %q", got)
	}
	for flag, want := range map[string]string{"file": "a/f", "other": "", "name": "n"} {
		if got := cmd.Flag(flag).Value.String(); got != want {
			t.Errorf("--%s is %s, want %s", flag, got, want)
		}
	}
	if got, _ := cmd.Flags().GetStringArray("var-file"); !slices.Equal(got, []string{"-", "a/v", "/abs"}) {
		t.Errorf("--var-file is %q", got)
	}
	for name, here := range map[string]struct {
		args        []string
		annotations map[string]string
	}{
		"-C":   {[]string{"-C", "."}, nil},
		"init": {nil, map[string]string{WorksHere: "yes"}},
	} {
		env, _, err := begin(here.args, here.annotations)
		if err != nil || env.Workdir != filepath.Join(root, "ws/a") || env.TypedIn != "" || env.FromWorkspace("f") != "f" {
			t.Errorf("%s: %+v: %v", name, env.CommandLine, err)
		}
	}
	for dir, want := range map[string]string{"none": "no such directory", "file": "not a directory", "file/x": "not a directory"} {
		if _, _, err := begin([]string{"-C", dir}, nil); !advice.IsA[*advice.UsageError](err) || !strings.Contains(err.Error(), want) {
			t.Errorf("-C %s: %v, want %s", dir, err, want)
		}
	}
}
