# Must give, by line:
# 11: Condition of the first phase
# 14: Condition without dependencies
# 19: Invalid value for argument
# 24: Allowed failure of a once workstream
# 29: Result of a workstream that does not run earlier
# 33: Unknown reference
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
}
