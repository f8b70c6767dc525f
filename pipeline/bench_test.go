package pipeline

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// instances returns a pipeline with a for_each of n instances, which has locals,
// defaults, inputs, artifacts and a gate.
func instances(n int) string {
	return fmt.Sprintf(`
locals { names = [for i in range(10) : [for j in range(%d) : "s${i}-${j}"]] }
gate "lint" { command = ["true"] }
pipeline "PRD-001" {
  defaults {
    timeout = "1m"
  }
  phase "build" {
    workstream "base" { command = ["true"] }
    workstream "service" {
      for_each   = toset(flatten(local.names))
      depends_on = [workstream.base]
      command    = ["make", each.key]
      env        = { SERVICE = each.value }
      inputs     = ["services/${each.key}/**/*.go"]
      artifacts  = ["bin/${each.key}"]
      gates      = [gate.lint]
    }
  }
}`, n/10)
}

// blocks returns a pipeline of n workstream blocks, each of which depends on the one
// before.
func blocks(n int) string {
	var src strings.Builder
	src.WriteString("pipeline \"PRD-001\" {\n  phase \"build\" {\n")
	for i := range n {
		fmt.Fprintf(&src, "    workstream \"ws%d\" {\n      command   = [\"true\", \"%d\"]\n      artifacts = [\"out/%d/*\"]\n", i, i, i)
		if i > 0 {
			fmt.Fprintf(&src, "      depends_on = [workstream.ws%d]\n", i-1)
		}
		src.WriteString("    }\n")
	}
	src.WriteString("  }\n}\n")
	return src.String()
}

// chain returns a pipeline with a for_each of n instances, each of which depends on the one
// before and, in a for expression, on two others.
func chain(n int) string {
	return fmt.Sprintf(`
pipeline "PRD-001" {
  phase "build" {
    workstream "package" {
      for_each   = { for i in range(%d) : "p${i}" => [for d in [1, 7, 50] : "p${i - d}" if i >= d] }
      depends_on = [for name in each.value : workstream.package[name]]
      command    = ["make", each.key]
      inputs     = concat(["src/${each.key}/**"], [for name in each.value : "src/${name}/out"])
      artifacts  = ["src/${each.key}/out"]
      gate "complete" { command = ["test", "-s", "src/${each.key}/out"] }
    }
  }
}`, n)
}

func benchmarkBuild(b *testing.B, src string, count int) {
	b.ReportAllocs()
	var p *Pipeline
	for b.Loop() {
		p = build(b, src, Inputs{})
	}
	if n := len(p.Phases[0].Workstreams); n < count {
		b.Fatal(n)
	}
}

func BenchmarkForEach10000(b *testing.B) { benchmarkBuild(b, instances(10000), 10000) }
func BenchmarkBlocks10000(b *testing.B)  { benchmarkBuild(b, blocks(10000), 10000) }

func BenchmarkMemoryPerInstance(b *testing.B) {
	src := instances(10000)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p := build(b, src, Inputs{})
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/10000, "B/instance")
		runtime.KeepAlive(p)
	}
}

func BenchmarkInvocation(b *testing.B) {
	p := build(b, instances(10000), Inputs{})
	list := p.Phases[0].Workstreams
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, diags := list[i%len(list)].Invocation(Results{}); diags.HasErrors() {
			b.Fatal(diags)
		}
		i++
	}
}

// BenchmarkBuildDependentInstances measures instances of a block that depend on each other.
func BenchmarkBuildDependentInstances(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkBuild(b, chain(n), n) })
	}
}

// BenchmarkBuildReferencesInLoop measures a workstream that uses all instances of a block, for
// which it waits through another one.
func BenchmarkBuildReferencesInLoop(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkBuild(b, summed(n, "workstream.mid"), 2*n+1) })
	}
}
