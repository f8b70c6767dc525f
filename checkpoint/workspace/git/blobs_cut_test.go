package git_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/workspace/git"
)

// answers starts real programs, except git cat-file, which gives one answer and ends.
type answers struct {
	commander
	answer string
}

func (a *answers) Run(ctx context.Context, c git.Command) error {
	if !slices.Contains(c.Args, "cat-file") {
		return a.commander.Run(ctx, c)
	}
	request := make([]byte, 100)
	if _, err := c.Stdin.Read(request); err != nil {
		return err
	}
	_, err := io.WriteString(c.Stdout, a.answer)
	return err
}

// TestBlobsCutShort has git end in the middle of its answer, or give a wrong one. Reading
// must fail, and must not take what there was for the whole blob.
func TestBlobsCutShort(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	blob := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD:a.txt"))
	for name, test := range map[string]struct {
		answer string
		short  bool // git ended too early
		opens  bool // the answer begins as it must
	}{
		"nothing":                {"", true, false},
		"half of the first line": {blob + " bl", true, false},
		"no bytes":               {blob + " blob 4\n", true, true},
		"half of the bytes":      {blob + " blob 4\non", true, true},
		"a tree":                 {blob + " tree 4\none\n\n", false, false},
		"no size":                {blob + " blob four\n", false, false},
		"other words":            {"what is this blob\n", false, false},
	} {
		a := &answers{commander: commander{env: userEnv()}, answer: test.answer}
		g, err := git.Open(t.Context(), a, dir)
		if err != nil {
			t.Fatal(err)
		}
		check := func(how, got string, err error) {
			t.Helper()
			if err == nil || errors.Is(err, io.ErrUnexpectedEOF) != test.short {
				t.Errorf("%s, %s: read %q, %v; want an error, of an early end: %t", name, how, got, err, test.short)
			}
		}
		r, err := g.OpenBlob(t.Context(), blob)
		if (err == nil) != test.opens {
			t.Errorf("%s: opened: %v, want %t", name, err, test.opens)
		}
		if err != nil {
			check("opened", "", err)
			continue
		}
		data, err := io.ReadAll(r)
		check("read", string(data), err)
		if _, again := r.Read(make([]byte, 1)); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%s: after %v, another read returned %v", name, err, again)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Errorf("%s: close: %v", name, err)
			}
		}
	}
}
