package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// calls returns a pipeline with n instances that call job.hcl, and give its variable "day" the
// given value. A workstream beside them makes the file of the first instance.
func calls(n int, day string) string {
	return fmt.Sprintf(`
pipeline "PRD-001" {
  phase "days" {
    workstream "day" {
      for_each = toset([for i in range(%d) : format("d%%05d", i)])
      call {
        file = "job.hcl"
        vars = { day = %s }
      }
    }
    workstream "first" {
      command   = ["true"]
      artifacts = ["out/d00000.csv"]
    }
  }
}`, n, day)
}

// job returns a called pipeline of workstreams with these arguments.
func job(workstreams ...string) string {
	var src strings.Builder
	src.WriteString("variable \"day\" {\n  type = string\n  validation {\n    condition     = var.day != \"bad\"\n    error_message = \"no such day\"\n  }\n}\n" +
		"locals { path = \"out/${var.day}.csv\" }\npipeline \"job\" {\n  title = \"out/${var.day}\"\n  phase \"main\" {\n")
	for i, body := range workstreams {
		fmt.Fprintf(&src, "    workstream \"ws%d\" {\n      %s\n    }\n", i, strings.ReplaceAll(body, "; ", "\n      "))
	}
	src.WriteString("  }\n}\n")
	return src.String()
}

func inDirectory(t testing.TB, files map[string]string) Inputs {
	t.Helper()
	dir := t.TempDir()
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Inputs{Workspace: dir}
}

// TestCalledArtifactsOfInstances: artifacts of a called pipeline count with the values of each
// instance, in whatever way they depend on them.
func TestCalledArtifactsOfInstances(t *testing.T) {
	t.Parallel()
	const overlaps, path = "Overlapping artifacts", `command = ["true"]; artifacts = [var.day]`
	tests := []struct{ name, day, body, want string }{
		{"the variable", "each.key", `command = ["true"]; artifacts = ["out/${var.day}.csv"]`, overlaps},
		{"another path", "each.key", `command = ["true"]; artifacts = ["other/${var.day}.csv"]`, ""},
		{"a local", "each.key", `command = ["true"]; artifacts = [local.path]`, overlaps},
		{"the title", "each.key", `command = ["true"]; artifacts = ["${pipeline.title}.csv"]`, overlaps},
		{"an element", "each.key", `for_each = toset([var.day]); command = ["true"]; artifacts = ["out/${each.key}.csv"]`, overlaps},
		{"the same for all", "each.key", `command = ["echo", var.day]; artifacts = ["out.csv"]`, overlaps},
		{"another call", "each.key", "call {; file = \"path.hcl\"; vars = { day = \"out/${var.day}.csv\" }; }", overlaps},
		{"another call for each element", "each.key", "for_each = toset([\"a\", \"b\"]); call {; file = \"path.hcl\"; vars = { day = \"out/${var.day}/${each.key}.csv\" }; }", ""},
		{"another call for each element, twice", "each.key", "for_each = toset([\"a\", \"b\"]); call {; file = \"path.hcl\"; vars = { day = \"out/${substr(var.day, 0, 1)}/${each.key}.csv\" }; }", overlaps},
		{"a value that is refused", `each.key == "d00001" ? "bad" : each.key`, `command = ["true"]; artifacts = ["other/${var.day}.csv"]`, "Invalid value for variable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := inDirectory(t, map[string]string{"job.hcl": job(tt.body), "path.hcl": job(path)})
			got := summariesOf(calls(3, tt.day), in)
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) == 0 || got[0] != tt.want) {
				t.Errorf("the mistakes are %q, want %q", got, tt.want)
			}
		})
	}
}

// TestCalledArtifactsOfManyInstances: the artifacts of a called pipeline are evaluated for the
// first instances only, so that thousands of calls load fast.
func TestCalledArtifactsOfManyInstances(t *testing.T) {
	t.Parallel()
	in := inDirectory(t, map[string]string{"job.hcl": job(`command = ["true"]; artifacts = ["other/${var.day}.csv"]`)})
	p := build(t, calls(maxCalledArtifacts, "each.key"), in)
	for name, want := range map[string]string{`day["d00000"]`: "[[other/d00000.csv]]", `day["d01999"]`: "[[]]"} {
		if got := fmt.Sprint(p.Workstream(name).calledArtifacts); got != want {
			t.Errorf("%s makes %s, want %s", name, got, want)
		}
	}
}

// BenchmarkCalls measures instances that call a file of 32 workstreams, whose artifacts depend
// on the instance.
func BenchmarkCalls(b *testing.B) {
	body := make([]string, 32)
	for i := range body {
		body[i] = fmt.Sprintf(`command = ["true"]; artifacts = ["other/${var.day}/%d.csv"]`, i)
	}
	in := inDirectory(b, map[string]string{"job.hcl": job(body...)})
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				build(b, calls(n, "each.key"), in)
			}
		})
	}
}
