package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"prdrunner/checkpoint/savepoint/engine"
)

func TestHide(t *testing.T) {
	t.Parallel()
	const password = "p@ss w/:%"
	secret := engine.NewSecret(password)
	for _, text := range []string{"it is " + password, "p%40ss+w%2F%3A%25", "postgres://u:p%40ss%20w%2F%3A%25@host", "p@ss%20w%2F:%25"} {
		err := secret.Hide(fmt.Errorf("%s: %w", text, fs.ErrNotExist))
		if strings.Contains(err.Error(), "ss") || !strings.Contains(err.Error(), "***") || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s became %v", text, err)
		}
	}
	if err := engine.NewSecret("").Hide(fs.ErrNotExist); err.Error() != fs.ErrNotExist.Error() {
		t.Errorf("without a password the error became %v", err)
	}
	if err := secret.Hide(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// TestContents: facts that are cut otherwise, or follow each other otherwise, are others.
func TestContents(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, facts := range [][][]string{nil, {{}}, {{""}}, {{"a", "b"}}, {{"ab"}}, {{"a"}, {"b"}}, {{"b"}, {"a"}}, {{"a", "", "b"}}} {
		c := engine.NewContents()
		for _, fact := range facts {
			c.Add(fact...)
		}
		sum := c.Digest().Sum
		if other, ok := seen[sum]; ok {
			t.Errorf("%q and %s have the digest %s", facts, other, sum)
		}
		seen[sum] = fmt.Sprintf("%q", facts)
	}
}

func TestRowSum(t *testing.T) {
	t.Parallel()
	sum := func(rows ...string) string {
		var s engine.RowSum
		for _, row := range rows {
			s.Begin()
			for cell := range strings.SplitSeq(row, ",") {
				s.Cell('t', []byte(cell))
			}
			s.End()
		}
		return s.String()
	}
	if sum("a,b", "c", "c") != sum("c", "a,b", "c") {
		t.Error("the sum depends on the order of the rows")
	}
	for _, other := range []string{sum("a,b", "c"), sum("a,b"), sum("a,b", "a,b", "c"), sum("ab", "c", "c"), sum("b,a", "c", "c"), sum()} {
		if other == sum("a,b", "c", "c") {
			t.Error("other rows have the same sum")
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	names, others := engine.NamesFor("app"), engine.NamesFor("App")
	id := strings.Repeat("x", 32)
	for _, name := range []string{names.Scratch(id, ""), names.Scratch(id, "$former")} {
		if !names.IsScratch(name) || others.IsScratch(name) || len(name) > 63 {
			t.Errorf("%s is not recognised, or too long", name)
		}
	}
	if name := names.Copy(id); names.IsScratch(name) || name == others.Copy(id) || len(name) > 63 {
		t.Errorf("the copy %s is taken for a scratch database or for that of another, or is too long", name)
	}
	for id, want := range map[string]bool{"chk_20240115_143022_a7b3c9": true, "": false, "a$b": false, "a b": false, id + "x": false} {
		if engine.IsID(id) != want {
			t.Errorf("%q is an ID: %v", id, !want)
		}
	}
}
