# The checks of a command-line library: four jobs that know nothing of each other, of which
# one is a matrix of platforms and versions of the language.
#
#   runner -C examples/workflows/cobra build PRD-101
#   runner -C examples/workflows/cobra build PRD-101 --resume     exit code 6: nothing is left to do
#
# After the workflow of cobra (github.com/spf13/cobra, .github/workflows/test.yml and Makefile,
# Apache License 2.0): license headers, lint, tests on Unix and tests on Windows. There each job
# has a machine of its own, with its version of Go. Here one Go (1.26 or later) compiles the
# tests for all platforms and versions of the language, and runs them where the platform is
# that of this machine.

locals {
  versions = ["1.21", "1.24", "1.26"]
  matrix = {
    for pair in setproduct(["linux", "darwin"], local.versions) :
    "${pair[0]}-${pair[1]}" => { platform = pair[0], version = pair[1] }
  }
}

pipeline "PRD-101" {
  title = "Checks of a command-line library"

  defaults {
    timeout = "10m" # the first run compiles Go's library for each platform
  }

  # What fails keeps no other job from starting, so that one run shows all that is wrong.
  phase "checks" {
    fail_fast = false

    workstream "license" {
      inputs = ["header.txt", "*.go"]
      script = <<-EOT
        awk '
          FILENAME == "header.txt" { if (FNR == 1) header = $0; next }
          FNR == 1 && $0 != header { print FILENAME ":1: the first line is not that of header.txt"; wrong = 1 }
          END { exit wrong }
        ' header.txt *.go
      EOT
    }

    workstream "lint" {
      command = ["go", "vet", "./..."]
      inputs  = ["go.mod", "*.go"]

      gate "format" {
        script = <<-EOT
          unformatted=$(gofmt -l .)
          echo "not as gofmt has it: $${unformatted:-nothing}"
          test -z "$unformatted"
        EOT
      }
    }

    # Instances are unix["darwin-1.21"], unix["darwin-1.24"], … The compiled test is dropped
    # with the work tree.
    workstream "unix" {
      for_each  = local.matrix
      command   = ["sh", "test.sh", each.value.platform, each.value.version, "out/${each.key}.txt"]
      inputs    = ["test.sh", "go.mod", "*.go", "!*_windows.go"]
      artifacts = ["out/${each.key}.txt"]
      isolate {}
    }

    workstream "windows" {
      command   = ["sh", "test.sh", "windows", "1.26", "out/windows.txt"]
      inputs    = ["test.sh", "go.mod", "*.go", "!*_unix.go"]
      artifacts = ["out/windows.txt"]
      isolate {}
    }
  }
}
