variable "coverage_floor" {
  type    = number
  default = 80
}

variable "database_url" {
  type      = string
  sensitive = true
  default   = "postgres://cashier@localhost/cashier"
}

locals { services = ["player", "visit"] }

gate "lint" { command = ["go", "vet", "./..."] } # a definition that workstreams share

pipeline "PRD-009" {
  title    = "Cashier Workflows"
  document = "docs/PRD-009.md"

  defaults {
    timeout = "10m"
    retry { attempts = 2 }
  }

  phase "database" {
    workstream "WS1" {
      title     = "Database Layer"
      command   = ["go", "run", "./tools/migrate"]
      inputs    = ["schema/**/*.sql"]
      artifacts = ["gen/**/*.go"]
      gates     = [gate.lint]

      gate "schema-validation" { command = ["./validate.sh"] }
    }
  }

  phase "services" {
    max_parallel = 2

    workstream "service" {
      for_each   = toset(local.services)
      depends_on = [workstream.WS1]
      script     = "make service-${each.key}"
      env        = { DATABASE_URL = var.database_url }
      timeout    = "5m"
      effect     = "idempotent"
      retry {
        attempts         = 3
        initial_interval = "1s"
        max_interval     = "30s"
        multiplier       = 2
      }
    }

    gate "coverage" {
      metric   = "test_coverage"
      min      = var.coverage_floor
      max_drop = 1
    }

    gate "sign-off" {
      approval { message = "Ship the service layer?" }
    }
  }
}
