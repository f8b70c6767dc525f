# Cashier Workflows: from migrations to a tested web service, in five workstreams.
#
#   runner -C examples/cashier build PRD-009            kill it wherever you like, then
#   runner -C examples/cashier build PRD-009 --resume
#
# Every workstream is a program of this module; gen/ and build/ are theirs alone.

variable "coverage_floor" {
  type        = number
  default     = 80
  description = "The least test coverage that may be shipped, in per cent."

  validation {
    condition     = var.coverage_floor >= 0 && var.coverage_floor <= 100
    error_message = "coverage_floor is a percentage, from 0 to 100."
  }
}

locals {
  # What the tests are measured against: all that people wrote to be run, and
  # the code that was generated for it.
  measured = ["./database", "./codegen", "./service", "./routes", "./hooks", "./gen/..."]

  # Equal sources give an equal binary, wherever they lie.
  build = "go build -trimpath -buildvcs=false -ldflags='-s -w'"
}

pipeline "PRD-009" {
  title    = "Cashier Workflows"
  document = "docs/PRD-009.md"

  defaults {
    timeout = "10m" # the first build compiles SQLite
  }

  phase "database" {
    title = "Database"

    workstream "WS1" {
      title     = "Database Layer"
      command   = ["go", "run", "./tools/migrate"]
      inputs    = ["go.mod", "go.sum", "schema/*", "database/*.go", "codegen/*", "artifact/*.go", "tools/migrate/*.go"]
      artifacts = ["gen/cashier.db", "gen/store/*.go"]

      gate "schema-validation" { command = ["go", "run", "./tools/schemacheck"] }
    }
  }

  # Both build on the database layer only, and so run side by side.
  phase "services" {
    title = "Service and routes"

    workstream "WS2" {
      title      = "Service Layer"
      depends_on = [workstream.WS1]
      command    = ["go", "run", "./tools/instrument"]
      inputs     = ["service/*.go", "codegen/*", "tools/instrument/*.go"]
      artifacts  = ["gen/instrumented/*.go"]

      gate "type-check" { command = ["go", "vet", "./service", "./gen/..."] }
    }

    workstream "WS3" {
      title      = "Route Handlers"
      depends_on = [workstream.WS1]
      command    = ["go", "run", "./tools/openapi", "-out", "build/openapi.json"]
      inputs     = ["routes/*.go", "service/*.go", "schema/*", "tools/openapi/*.go"]
      artifacts  = ["build/openapi.json"]

      gate "lint" { command = ["go", "run", "./tools/lint", "routes", "service"] }
    }
  }

  phase "hooks" {
    title = "Hooks"

    # The server is built whole and taken through a cashier's day over HTTP,
    # its webhooks received: one request at least for every operation of WS3.
    workstream "WS4" {
      title      = "Hooks"
      depends_on = [workstream.WS1, workstream.WS2, workstream.WS3]
      script     = <<-EOT
        ${local.build} -o build/bin/cashierd.tmp ./cmd/cashierd
        mv build/bin/cashierd.tmp build/bin/cashierd
        go run ./tools/smoke -operations ${workstream.WS3.outputs.operations}
      EOT
      inputs     = ["hooks/*.go", "routes/*.go", "service/*.go", "cmd/**/*.go", "tools/smoke/*.go"]
      artifacts  = ["build/bin/cashierd", "build/smoke.json"]

      retry {
        attempts         = 2
        initial_interval = "1s"
      }

      gate "type-check" { command = ["go", "vet", "./hooks", "./cmd/..."] }
    }
  }

  phase "tests" {
    title = "Tests"

    workstream "WS5" {
      title      = "Tests"
      depends_on = [workstream.WS1, workstream.WS2]
      command    = ["go", "run", "./tools/testcover", "-cover", join(",", local.measured)]
      inputs     = ["tests/*.go", "database/*.go", "codegen/*", "service/*.go", "routes/*.go", "hooks/*.go", "schema/*", "tools/testcover/*.go"]
      artifacts  = ["build/coverage.out", "build/tests.json"]

      gate "test-pass" { command = ["go", "run", "./tools/testcheck"] }
    }

    gate "coverage" {
      metric = "test_coverage"
      min    = var.coverage_floor
    }
  }
}
