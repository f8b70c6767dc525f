# Continuous integration of a small store of measured values: it is built and tested, the coverage of each
# package is measured, and a server is tried with several clients. Then exit handlers say how it went.
#
#   runner -C examples/workflows/argo build PRD-107
#   runner -C examples/workflows/argo logs PRD-107.e2e service.server    of a service of a called pipeline
#
# Break a test, say in line/line_test.go: what can still run does, the handlers run and open out/issue.md, and
# the build fails. When you have mended it and resume, the issue is closed.
#
# Origin: the examples of https://github.com/argoproj/argo-workflows (Apache-2.0): influxdb-ci.yaml has the
# graph, with a template for the coverage and one with a daemon for the end-to-end test, daemon-step.yaml
# the order of the clients, and exit-handlers.yaml the handlers. Its checkout is the workspace here.

pipeline "PRD-107" {
  title = "Integration of a store"

  defaults {
    env = { GOFLAGS = "-trimpath" }
  }

  phase "compile" {
    fail_fast = false

    workstream "build" {
      inputs    = ["go.mod", "**/*.go", "!**/*_test.go"]
      artifacts = ["out/bin/points"]
      command   = ["go", "build", "-buildvcs=false", "-o", "out/bin/points", "./cmd/points"]
    }

    workstream "unit" {
      inputs = ["go.mod", "**/*.go"]
      script = "go vet ./... && go test ./..."
    }
  }

  phase "test" {
    fail_fast = false

    workstream "coverage" {
      for_each  = toset(["line", "store"])
      inputs    = ["go.mod", "line/*.go", "${each.key}/*.go"]
      artifacts = ["out/coverage/${each.key}.txt"]

      call {
        file = "coverage.hcl"
        vars = { package = each.key }
      }
      gate "enough" {
        condition     = tonumber(workstream.coverage[each.key].outputs.percent) >= 70
        error_message = "Only ${workstream.coverage[each.key].outputs.percent} % of ${each.key} are covered."
      }
    }

    workstream "e2e" {
      depends_on = [workstream.build]
      inputs     = ["points/*.csv"]
      artifacts  = ["out/cpu.csv"]
      call { file = "e2e.hcl" }
    }
  }

  phase "success" {
    workstream "celebrate" {
      depends_on = [workstream.coverage, workstream.e2e]
      artifacts  = ["out/summary.txt"]
      script     = "cat out/coverage/line.txt out/coverage/store.txt out/cpu.csv > out/summary.txt"
    }
  }

  phase "exit" {
    run_on = "always"

    # It closes the issue of an earlier build. If this one has failed too, cry opens another.
    workstream "notify" {
      artifacts = ["out/status.txt"]
      script    = <<-EOT
        mkdir -p out
        rm -f out/issue.md
        cat > out/status.txt <<'END'
        build ${workstream.build.status}
        unit ${workstream.unit.status}
        coverage-line ${workstream.coverage["line"].status}
        coverage-store ${workstream.coverage["store"].status}
        e2e ${workstream.e2e.status}
        END
      EOT
    }
  }

  phase "failure" {
    run_on = "failed"

    workstream "cry" {
      depends_on = [workstream.notify]
      script     = "awk '$2 == \"failed\" { print \"- \" $1 \" has failed\" }' out/status.txt > out/issue.md"
    }
  }
}
