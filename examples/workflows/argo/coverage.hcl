# The coverage of one package by its tests. PRD-107.hcl calls this pipeline for each package.

variable "package" { type = string }

locals {
  result = "out/coverage/${var.package}"
}

pipeline "PRD-117" {
  title   = "Coverage of ${var.package}"
  outputs = { percent = workstream.report.outputs.percent }

  defaults {
    env = { GOFLAGS = "-trimpath", RESULT = local.result }
  }

  phase "coverage" {
    workstream "test" {
      inputs    = ["go.mod", "line/*.go", "${var.package}/*.go"]
      artifacts = ["${local.result}.out"]
      script    = "mkdir -p out/coverage && go test -coverprofile \"$RESULT.out\" ./${var.package}"
    }

    workstream "report" {
      depends_on = [workstream.test]
      artifacts  = ["${local.result}.txt"]
      script     = <<-EOT
        go tool cover -func "$RESULT.out" > "$RESULT.txt"
        awk '$1 == "total:" { sub(/%/, "", $3); print "percent=" $3 }' "$RESULT.txt" >> "$RUNNER_OUTPUT"
      EOT
    }
  }
}
