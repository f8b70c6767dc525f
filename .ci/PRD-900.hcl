# What must hold before a change is taken, as a pipeline: .ci/run builds the command and runs it.
#
# A workstream runs again when a file among its inputs has changed. What runs tests has the whole repository
# among them: tests read manuals, examples and what is in testdata.

variable "go" {
  description = "The version of Go, with which everything runs again."
  type        = string
}

locals {
  code       = ["go.mod", "go.sum", "**/*.go", "**/*.sql", "**/*.tmpl", "cmd/runner/templates", "cmd/runner/explain/texts", "cmd/runner/docs", "cmd/runner/page", "cmd/runner/schema", "pipeline/SPEC.md", "checkpoint/FORMAT.md"]
  repository = ["cmd", "runner", "pipeline", "checkpoint", "examples", "go.mod", "go.sum", "README.md", ".ci", ".github", ".golangci.yml"]
}

pipeline "PRD-900" {
  title = "Checks of a change"

  defaults {
    shell   = ["bash", "-euo", "pipefail", "-c"]
    env     = { GO_VERSION = var.go }
    timeout = "60m"
  }

  phase "code" {
    max_parallel = 1 # each of them uses all cores by itself

    workstream "modules" {
      script = <<-EOT
        for module in . .ci/collector; do
          go -C "$module" mod download
          go -C "$module" mod verify
          go -C "$module" mod tidy -diff
        done
        go -C .ci/collector vet .
      EOT
      inputs = concat(local.code, [".ci/collector"])
    }

    workstream "format" {
      script = <<-EOT
        unformatted=$(find . -name '*.go' -not -path './.git/*' -not -path './examples/*/gen/*' -print0 | xargs -0 gofmt -l)
        if [ -n "$unformatted" ]; then
          echo "not formatted:"
          echo "$unformatted"
          exit 1
        fi
        runner fmt --check .ci/PRD-900.hcl .ci/PRD-901.hcl
      EOT
      inputs = concat(local.code, [".ci/*.hcl"])
    }

    workstream "vet" {
      depends_on = [workstream.modules]
      script     = <<-EOT
        go vet ./...
        go vet -tags failpoint ./...
      EOT
      inputs     = local.code
    }

    workstream "staticcheck" {
      script = ". .ci/functions; tool staticcheck ./..."
      inputs = concat(local.code, [".ci/functions", ".ci/tools.*"])
    }

    workstream "golangci-lint" {
      script = <<-EOT
        . .ci/functions
        tool golangci-lint config verify
        tool golangci-lint run ./...
      EOT
      inputs = concat(local.code, [".ci/functions", ".ci/tools.*", ".golangci.yml"])
    }

    workstream "other-systems" {
      script = <<-EOT
        for system in darwin windows; do
          for arch in amd64 arm64; do
            echo "$system/$arch"
            GOOS=$system GOARCH=$arch CGO_ENABLED=0 go build -o /dev/null ./cmd/runner
            GOOS=$system GOARCH=$arch CGO_ENABLED=0 go vet ./...
          done
        done
      EOT
      inputs = local.code
    }
  }

  phase "test" {
    max_parallel = 1

    # The command that README.md names. With it goes a sample of each long proof, at moments that follow
    # from the commit.
    workstream "tests" {
      script = <<-EOT
        . .ci/functions
        # A slow machine needs more than the ten minutes that go test gives a package.
        export GOFLAGS="$${GOFLAGS:-} -timeout=50m"
        go test ./...
      EOT
      inputs = local.repository
    }

    workstream "histories" {
      title     = "500 histories beside a model"
      script    = <<-EOT
        . .ci/functions
        proof bin/ci/histories.log ./runner '^TestHistories$' -model.histories=500 -model.seed="$seed"
      EOT
      inputs    = local.repository
      artifacts = ["bin/ci/histories.log"]
      gate "nothing-skipped" { script = ". .ci/functions; nothing_skipped bin/ci/histories.log" }
    }

    # The pictures are for people to look at.
    workstream "pages" {
      title     = "The pages in a browser"
      script    = <<-EOT
        . .ci/functions
        rm -rf bin/ci/pages && mkdir -p bin/ci/pages
        go test -count=1 -v -artifacts -outputdir "$PWD/bin/ci/pages" ./cmd/runner/serve >bin/ci/pages.log 2>&1 || { cat bin/ci/pages.log; exit 1; }
        find bin/ci/pages -name '*.png' | wc -l
      EOT
      inputs    = local.repository
      artifacts = ["bin/ci/pages/**", "bin/ci/pages.log"]
      gate "nothing-skipped" { script = ". .ci/functions; nothing_skipped bin/ci/pages.log" }
    }

    workstream "failpoints" {
      script = <<-EOT
        . .ci/functions
        go test -tags failpoint ./checkpoint/failpoint
      EOT
      inputs = local.repository
    }

    # With the race detector, the tests of the command line take longer than all others together:
    # PRD-901 has them.
    workstream "races" {
      title     = "The tests with the race detector"
      script    = <<-EOT
        . .ci/functions
        packages=$(go list ./... | grep -vxF "$commandline")
        raced bin/ci/races.log "$packages"
      EOT
      inputs    = local.repository
      artifacts = ["bin/ci/races.log"]
      gate "nothing-skipped" { script = ". .ci/functions; nothing_skipped bin/ci/races.log" }
    }

    workstream "fuzzing" {
      title  = "2,000 inputs for each fuzz target"
      script = ". .ci/functions; fuzzed 2000"
      inputs = local.repository
    }
  }

  phase "use" {
    max_parallel = 1

    workstream "killed" {
      title  = "Killed and resumed"
      script = <<-EOT
        . .ci/functions
        clone
        cd "$work/clone"
        go run ./cmd/runner -C examples/cashier build PRD-009
        journal=examples/cashier/.runner/PRD-009/journal.jsonl
        expect 6 runner -C examples/cashier build PRD-009 --resume
        runner -C examples/cashier build PRD-009 --fresh &
        pid=$!
        # The new session is killed once it has recorded its first workstream.
        until grep -qs '"workstream.completed"' "$journal" && ! grep -qs '"session.completed"' "$journal"; do
          kill -0 "$pid"
          sleep 0.05
        done
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null || true
        runner -C examples/cashier status PRD-009
        expect 0 runner -C examples/cashier build PRD-009 --resume
      EOT
      inputs = local.repository
    }

    workstream "rolled-back" {
      title  = "Rolled back, undone, and carried elsewhere"
      script = <<-EOT
        . .ci/functions
        clone
        # Without git, from a directory that holds nothing but the example.
        cp -r "$work/clone/examples/cashier" "$work/cashier"
        cd "$work/cashier"
        files() { find . -path ./.runner -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; }
        expect 1 runner build PRD-009 --var coverage_floor=99
        runner checkpoint list PRD-009
        runner checkpoint diff PRD-009 1 latest --stat
        files >"$work/failed.sums"
        rm -r service gen
        echo edited >>docs/PRD-009.md
        files >"$work/edited.sums"
        runner checkpoint rollback PRD-009 1 --yes
        # What the later steps made is gone; of everything else every byte is back.
        files >"$work/back.sums"
        (grep -v -e ' ./build/' -e ' ./gen/instrumented/' "$work/failed.sums" || true) | diff - "$work/back.sums"
        undo=$(runner checkpoint list PRD-009 --json | grep -o '"safety_checkpoint": "[^"]*"' | tail -n 1 | cut -d '"' -f 4)
        runner checkpoint rollback PRD-009 "$undo" --yes
        files | diff "$work/edited.sums" -
        runner checkpoint rollback PRD-009 1 --yes
        runner checkpoint export PRD-009 -o "$work/cashier.tar.gz"
        cd "$work"
        rm -rf "$work/cashier"
        mkdir "$work/elsewhere"
        cd "$work/elsewhere"
        runner checkpoint import "$work/cashier.tar.gz"
        expect 0 runner build PRD-009 --resume
        runner checkpoint validate PRD-009 --deep
      EOT
      inputs = local.repository
    }

    workstream "examples" {
      title  = "The other examples, and a new project"
      script = <<-EOT
        . .ci/functions
        clone
        cd "$work/clone/examples"
        expect 0 runner -C minimal build PRD-001
        expect 0 runner -C matrix build PRD-003
        expect 3 runner -C approval build PRD-002
        expect 0 runner -C monorepo build PRD-004
        expect 0 runner -C scatter build PRD-005
        expect 0 runner -C workflows/cobra build PRD-101
        expect 0 runner -C workflows/zustand build PRD-102
        expect 3 runner -C workflows/zustand build PRD-103
        expect 0 runner -C workflows/snakemake build PRD-104
        expect 0 runner -C workflows/nextflow build PRD-105
        expect 0 runner -C workflows/dagu build PRD-106
        expect 0 runner -C workflows/argo build PRD-107
        expect 3 runner -C workflows/deployment build PRD-108
        expect 0 runner -C workflows/jest build PRD-109
        expect 1 runner -C agents build PRD-007 # its review says do_not_ship
        expect 3 runner -C migration build PRD-006
        expect 1 runner -C migration build PRD-008 # its gate finds a mistake, and it is rolled back
        cp migration/fixes/0002_fill_total.sql migration/totals/
        expect 0 runner -C migration build PRD-008 --resume
        mkdir "$work/mail"
        printf '#!/bin/sh\ncat > "%s"\n' "$work/mail/received" >"$work/mail/sendmail"
        chmod +x "$work/mail/sendmail"
        PATH="$work/mail:$PATH" expect 1 runner -C notify build PRD-011 # its check fails, and its hook sends a mail
        grep 'Subject: PRD-011: failed' "$work/mail/received"
        mkdir "$work/new"
        cd "$work/new"
        runner init PRD-001
        runner validate PRD-001
        runner fmt --check
        runner build PRD-001
        expect 6 runner build PRD-001 --resume
      EOT
      inputs = local.repository
    }

    workstream "benchmarks" {
      title  = "The benchmarks, at a small size"
      script = ". .ci/functions; go run ./examples/bench -small -dir \"$work\""
      inputs = local.repository
    }
  }
}
