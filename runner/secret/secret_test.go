package secret

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
	"prdrunner/runner/query"
)

// resolver returns a Resolver for the secret blocks, and the masker that it tells values.
func resolver(t *testing.T, dir, blocks string, commander git.Commander, environment map[string]string) (*Resolver, *mask.Masker) {
	t.Helper()
	files, err := workspace.Open(workspace.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	file, diags := pipeline.Parse([]byte("pipeline \"PRD-001\" {\n"+blocks+`
  phase "one" {
    workstream "w" { command = ["true"] }
  }
}`), "p.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := file.Pipeline(pipeline.Inputs{Workspace: dir})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	masker, err := mask.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	hide := func(values []pipeline.Secret) error {
		for _, v := range values {
			if _, err := masker.Add([]mask.Secret{{Name: v.Variable, Value: v.Value}}); err != nil {
				return err
			}
		}
		return nil
	}
	return &Resolver{
		Querier:  query.Querier{PRD: p.ID, Files: files, Workspace: dir, Commander: commander, Hide: hide},
		Pipeline: p, Getenv: func(name string) string { return environment[name] }, Mask: masker.String,
	}, masker
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestResolve: each source gives the value without the last line break, and the value is
// hidden.
func TestResolve(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it needs a shell")
	}
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "token")
	write(t, filepath.Join(dir, "token"), "in-the-workspace\n\n")
	write(t, outside, "outside-of-it\r\n")
	for source, want := range map[string]string{
		`command = ["echo", "of a command"]`:     "of a command",
		`script = "printf 'of a\nscript'"`:       "of a\nscript",
		`script = "echo $RUNNER_PRD"`:            "PRD-001",
		`env = "TOKEN"`:                          "of-the-environment",
		`file = "token"`:                         "in-the-workspace\n",
		`file = "` + outside + `"`:               "outside-of-it",
		`script = "printf 'no line break\r'"`:    "no line break\r",
		`script = "echo shown; echo error >&2" `: "shown",
	} {
		r, masker := resolver(t, dir, "secret \"s\" {\n"+source+"\n}", gittest.Commander{}, map[string]string{"TOKEN": "of-the-environment"})
		if _, ok := r.Value("s"); ok || r.Resolved([]string{"s"}) || !r.Resolved(nil) {
			t.Errorf("%s: it is resolved before", source)
		}
		if err := r.Resolve(t.Context(), []string{"s"}); err != nil {
			t.Errorf("%s: %v", source, err)
		}
		if got, ok := r.Value("s"); got != want || !ok || masker.String("<"+got+">") != "<***>" {
			t.Errorf("%s: got %q, resolved %v", source, got, ok)
		}
	}
}

// TestResolveFails: a failure says what to do, and shows nothing that was printed.
func TestResolveFails(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it needs a shell")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "short"), "abc\n")
	write(t, filepath.Join(dir, "large"), strings.Repeat("x", maxSize+1))
	for source, want := range map[string]string{
		`env = "TOKEN"`:                    "the environment variable TOKEN is not set",
		`env = "SHORT"`:                    "its value has fewer than 4 characters",
		`file = "none"`:                    "none: no such file",
		`file = "."`:                       ". is no regular file",
		`file = "short"`:                   "its value has fewer than 4 characters",
		`file = "large"`:                   "large has more than 64 KiB",
		`command = ["true"]`:               "its value has fewer than 4 characters",
		`script = "printf 'nul\\000byte'"`: "its value holds a NUL byte",
		`command = ["no-such-program"]`:    "no-such-program",
		`command = ["cat", "large"]`:       "cat prints more than 64 KiB",
		`script = "echo s3cret; exit 3"`:   "exit code 3",
		`script = "echo s3cret; echo no s3cret >&2; exit 3"`: "no ***",
	} {
		r, _ := resolver(t, dir, "secret \"s\" {\n"+source+"\n}", gittest.Commander{}, map[string]string{"SHORT": "abc"})
		err := r.Resolve(t.Context(), []string{"s"})
		var failed *Error
		if !errors.As(err, &failed) || failed.Name != "s" || failed.Range.Start.Line != 2 {
			t.Errorf("%s: error %v", source, err)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "secret.s could not be resolved: ") || !strings.Contains(text, want) || strings.Contains(text, "s3cret") {
			t.Errorf("%s: error %q, want %q", source, text, want)
		}
		if _, ok := r.Value("s"); ok {
			t.Errorf("%s: it has a value", source)
		}
	}
}

// TestResolveOnce: the source of a secret is asked once, however many need it and whether or
// not it fails. Only the first of them is told the reason of a failure.
func TestResolveOnce(t *testing.T) {
	t.Parallel()
	for _, failing := range []bool{false, true} {
		var count atomic.Int32
		r, _ := resolver(t, t.TempDir(), `secret "s" { command = ["x"] }`, commanderFunc(func(_ context.Context, c git.Command) error {
			count.Add(1)
			_, err := c.Stdout.Write([]byte("the value"))
			if failing {
				err = errors.New("no key")
			}
			return err
		}), nil)
		var all sync.WaitGroup
		var told atomic.Int32
		for range 20 {
			all.Go(func() {
				err := r.Resolve(t.Context(), []string{"s"})
				if value, ok := r.Value("s"); ok == failing || !failing && value != "the value" || (err != nil) != failing {
					t.Errorf("%q, resolved %v, %v", value, ok, err)
				}
				switch {
				case err == nil:
				case strings.Contains(err.Error(), "no key"):
					told.Add(1)
				case !strings.Contains(err.Error(), "the reason stands where it failed first"):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if count.Load() != 1 || failing && told.Load() != 1 {
			t.Errorf("failing %v: %d commands, told %d times", failing, count.Load(), told.Load())
		}
	}
}

// TestResolveCancelled: a caller that waits for another one's command stops waiting when its
// context ends.
func TestResolveCancelled(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	r, _ := resolver(t, t.TempDir(), `secret "s" { command = ["x"] }`, commanderFunc(func(_ context.Context, c git.Command) error {
		close(begun)
		<-end
		_, err := c.Stdout.Write([]byte("the value"))
		return err
	}), nil)
	first := make(chan error)
	go func() { first <- r.Resolve(t.Context(), []string{"s"}) }()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Resolve(ctx, []string{"s"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(end)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestResolveAfterCancelled: an attempt that was cancelled is made again.
func TestResolveAfterCancelled(t *testing.T) {
	t.Parallel()
	r, _ := resolver(t, t.TempDir(), `secret "s" { command = ["x"] }`, commanderFunc(func(ctx context.Context, c git.Command) error {
		_, err := c.Stdout.Write([]byte("the value"))
		return errors.Join(err, ctx.Err())
	}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Resolve(ctx, []string{"s"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := r.Resolve(t.Context(), []string{"s"}); err != nil {
		t.Error(err)
	}
}

type commanderFunc func(context.Context, git.Command) error

func (f commanderFunc) Run(ctx context.Context, c git.Command) error { return f(ctx, c) }
