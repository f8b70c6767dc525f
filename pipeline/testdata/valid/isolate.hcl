# Workstreams that run in work trees of their own.
variable "from" { default = "git" }

locals {
  bugs = { first = "crash", second = "leak" }
}

gate "lint" {
  command = ["./lint.sh"]
}

pipeline "PRD-001" {
  phase "repair" {
    # The instances may all change src/app.go at the same time: each gives a patch.
    workstream "fix" {
      for_each  = local.bugs
      script    = "./fix.sh ${each.value} && git diff > patches/${each.key}.diff"
      inputs    = ["src/**"]
      artifacts = ["patches/${each.key}.diff"]
      gates     = [gate.lint]

      isolate {
        from    = var.from
        include = ["src/**", "*.sh", "cases/${each.key}"]
        exclude = ["src/vendor", "!src/vendor/README.md"]
      }
      gate "small" {
        condition     = workstream.fix[each.key].outputs.lines < 100
        error_message = "The patch is too long."
      }
    }
    workstream "report" {
      command         = ["./report.sh"]
      artifacts       = ["report.txt"]
      effect          = "pure"
      cache           = true
      on_gate_failure = "rerun"
      isolate {}

      gate "read" {
        command = ["test", "-s", "report.txt"]
        pause   = true
      }
    }
    gate "sign-off" {
      approval { message = "Take the patches?" }
    }
  }
}
