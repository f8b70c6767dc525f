# What runs after failures, and failures that are allowed.
pipeline "PRD-001" {
  phase "build" {
    fail_fast = false

    workstream "lint" {
      command       = ["make", "lint"]
      allow_failure = true
    }
    workstream "test" {
      for_each  = toset(["unit", "browser"])
      command   = ["make", each.key]
      fail_fast = each.key == "unit"
    }
    workstream "report" {
      depends_on = [workstream.lint, workstream.test]
      run_on     = "always"
      command    = ["./report.sh", workstream.lint.status, join(",", [for key, test in workstream.test : "${key}=${test.status}"])]
    }
    workstream "bisect" {
      depends_on = [workstream.test["unit"]]
      run_on     = "failed"
      command    = ["./bisect.sh"]
    }
  }

  phase "ship" {
    workstream "deploy" {
      depends_on = [workstream.lint]
      when       = workstream.lint.status == "completed"
      command    = ["./deploy.sh"]
    }
  }

  phase "undoing" {
    run_on = "failed"
    workstream "undo" { command = ["./undo.sh"] }
  }

  phase "end" {
    run_on = "always"
    workstream "cleanup" { command = ["./cleanup.sh"] }
  }
}
