# 17: Reference outside for_each
# 18: Incorrect value type
# 19: Invalid duration
# 20: Unsupported argument
# 26: Result not certain
# 27: Result not certain
# 28: Incorrect value type
# 29: Invalid value for argument
# 30: Invalid number
# 32: Duplicate defaults block
# 35: Incorrect value type
# 40: Unsupported block type

pipeline "PRD-010" {
  defaults {
    env = {
      NAME = each.key
    LIST = ["a"] }
    timeout = "soon"
    command = ["true"]
  }

  phase "one" {
    defaults {
      env = {
        RESULT = workstream.a.outputs.x
        INDEX  = iteration.index }
      shell  = "bash"
      effect = "twice"
      retry { attempts = 0 }
    }
    defaults {}
    workstream "a" {
      command = ["a"]
      env     = { RUNNER_X = "reserved" }
    }
  }
  phase "two" {
    workstream "b" {
      defaults {}
      command = ["b"]
    }
  }
}
