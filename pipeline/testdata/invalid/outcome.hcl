# Must give, by line:
# 14: Condition of the first phase
# 17: Condition without dependencies
# 22: Invalid value for argument
# 27: Allowed failure of a once workstream
# 32: Result of a workstream that does not run earlier
# 36: Unknown reference
# 43: Question after a failure
# 47: Once workstream after a failure
# 52: Question after a failure
pipeline "PRD-001" {
  phase "build" {
    title  = "Build"
    run_on = "always"
    workstream "a" {
      command = ["true"]
      run_on  = "failed"
    }
    workstream "b" {
      depends_on = [workstream.a]
      command    = ["true"]
      run_on     = "failure"
    }
    workstream "c" {
      command       = ["true"]
      effect        = "once"
      allow_failure = true
    }
    workstream "d" {
      depends_on = [workstream.c]
      command    = ["true"]
      when       = workstream.a.status == "failed"
    }
    workstream "e" {
      depends_on = [workstream.a]
      command    = ["echo", workstream.a.state]
    }
  }
  phase "undoing" {
    run_on = "failed"
    workstream "undo" {
      command = ["true"]
      gate "sure" {
        approval { message = "Sure?" }
      }
    }
    workstream "mail" {
      depends_on = [workstream.a]
      command    = ["mail"]
      effect     = "once"
    }
    gate "look" {
      command = ["true"]
      pause   = true
    }
  }
}
