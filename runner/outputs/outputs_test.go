package outputs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       Set
		wantErr    string
	}{
		{"nothing", "", Set{}, ""},
		{"values", "a=1\nb=x=y\nempty=\n", Set{Values: map[string]string{"a": "1", "b": "x=y", "empty": ""}}, ""},
		{"carriage returns", "a=1\r\nb=2\r\n", Set{Values: map[string]string{"a": "1", "b": "2"}}, ""},
		{"block", "notes<<EOF\none\ntwo=2\nEOF\na=1\n", Set{Values: map[string]string{"notes": "one\ntwo=2", "a": "1"}}, ""},
		{"metrics", "metric.coverage=81.5\nmetric.clean=true\nmetric.tool=go\nmetric.hex=0x10\nmetric.nan=NaN\n", Set{
			Metrics: map[string]any{"coverage": json.Number("81.5"), "clean": true, "tool": "go", "hex": "0x10", "nan": "NaN"},
		}, ""},
		{"result", "summary=done\nlocation=out/report.html\n", Set{Summary: "done", Location: "out/report.html"}, ""},
		{"bytes", "a=\xff\nsummary=\xfe\nlocation=\xfd\n", Set{Values: map[string]string{"a": "\xff"}, Summary: "\xfe", Location: "\xfd"}, ""},
		{"no name", "hello\n", Set{}, "line 1 of RUNNER_OUTPUT is neither"},
		{"bad name", "ok=1\n1st=2\n", Set{}, `line 2 of RUNNER_OUTPUT: "1st" is not a name`},
		{"open block", "notes<<EOF\none\n", Set{}, `no line "EOF" ends`},
		{"block without mark", "notes<<\n", Set{}, "names no mark"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(tt.text)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadRemovesTheFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "out")
	if got, err := Read(name); err != nil || got.Values != nil {
		t.Fatalf("a file that was never written: %v, %v", got, err)
	}
	if err := os.WriteFile(name, []byte("a=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(name)
	if err != nil || got.Values["a"] != "1" {
		t.Fatalf("got %v, %v", got, err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(name); err == nil {
		t.Error("a directory was read as outputs")
	}
}

func FuzzOutputs(f *testing.F) {
	for _, seed := range []string{"", "a=1\n", "a<<E\nx\nE\n", "metric.x=1e400\n", "=\n", "<<\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := parse(text)
		if err != nil {
			return
		}
		for name := range out.Values {
			if !validName(name) {
				t.Errorf("an invalid name came through: %q", name)
			}
		}
	})
}
