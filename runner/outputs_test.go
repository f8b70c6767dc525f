package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOutputs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       outputs
		wantErr    string
	}{
		{"nothing", "", outputs{}, ""},
		{"values", "a=1\nb=x=y\nempty=\n", outputs{values: map[string]string{"a": "1", "b": "x=y", "empty": ""}}, ""},
		{"carriage returns", "a=1\r\nb=2\r\n", outputs{values: map[string]string{"a": "1", "b": "2"}}, ""},
		{"block", "notes<<EOF\none\ntwo=2\nEOF\na=1\n", outputs{values: map[string]string{"notes": "one\ntwo=2", "a": "1"}}, ""},
		{"metrics", "metric.coverage=81.5\nmetric.clean=true\nmetric.tool=go\nmetric.hex=0x10\nmetric.nan=NaN\n", outputs{
			metrics: map[string]any{"coverage": json.Number("81.5"), "clean": true, "tool": "go", "hex": "0x10", "nan": "NaN"},
		}, ""},
		{"result", "summary=done\nlocation=out/report.html\n", outputs{summary: "done", location: "out/report.html"}, ""},
		{"bytes", "a=\xff\nsummary=\xfe\nlocation=\xfd\n", outputs{values: map[string]string{"a": "\xff"}, summary: "\xfe", location: "\xfd"}, ""},
		{"no name", "hello\n", outputs{}, "line 1 of RUNNER_OUTPUT is neither"},
		{"bad name", "ok=1\n1st=2\n", outputs{}, `line 2 of RUNNER_OUTPUT: "1st" is not a name`},
		{"open block", "notes<<EOF\none\n", outputs{}, `no line "EOF" ends`},
		{"block without mark", "notes<<\n", outputs{}, "names no mark"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseOutputs(tt.text)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(outputs{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadOutputsRemovesTheFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "out")
	if got, err := readOutputs(name); err != nil || got.values != nil {
		t.Fatalf("a file that was never written: %v, %v", got, err)
	}
	if err := os.WriteFile(name, []byte("a=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readOutputs(name)
	if err != nil || got.values["a"] != "1" {
		t.Fatalf("got %v, %v", got, err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := readOutputs(name); err == nil {
		t.Error("a directory was read as outputs")
	}
}

func FuzzOutputs(f *testing.F) {
	for _, seed := range []string{"", "a=1\n", "a<<E\nx\nE\n", "metric.x=1e400\n", "=\n", "<<\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := parseOutputs(text)
		if err != nil {
			return
		}
		for name := range out.values {
			if !validName(name) {
				t.Errorf("an invalid name came through: %q", name)
			}
		}
	})
}
