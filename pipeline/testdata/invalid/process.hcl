# Must give, by line:
# 38: Missing command
# 41: Command and script
# 43: Incorrect value type
# 44: Incorrect value type
# 45: Incorrect value type
# 46: Incorrect value type
# 47: Incorrect value type
# 48: Incorrect value type
# 49: Incorrect value type
# 52: Incorrect value type
# 56: Incorrect value type
# 60: Incorrect value type
# 64: Incorrect value type
# 68: Incorrect value type
# 72: Incorrect value type
# 76: Incorrect value type
# 78: Invalid function argument
# 78: Invalid function argument
# 78: Invalid function argument
# 81: Invalid glob
# 81: Path outside the workspace
# 82: Path outside the workspace
# 86: Incorrect value type
# 90: Invalid value for argument
# 91: Invalid value for argument
# 92: Invalid duration
# 97: Rerun of a once workstream
# 98: Retry of a once workstream
# 102: Invalid number
# 103: Duplicate retry block
# 107: Incorrect value type
# 108: Incorrect value type
# 109: Unsupported argument
# 113: Incorrect value type
pipeline "PRD-001" {
  phase "a" {
    workstream "none" { title = "no command" }
    workstream "both" {
      command = ["true"]
      script  = "true"
    }
    workstream "text" { command = "make all" }
    workstream "empty" { command = [] }
    workstream "empty_name" { command = [""] }
    workstream "blank" { script = " " }
    workstream "nested" { command = ["a", ["b"]] }
    workstream "nul" { script = "a\u0000b" }
    workstream "null" { command = ["a", null] }
    workstream "dir" {
      command = ["true"]
      dir     = "/tmp"
    }
    workstream "dir_up" {
      command = ["true"]
      dir     = "a/../../b"
    }
    workstream "env_list" {
      command = ["true"]
      env     = ["A=1"]
    }
    workstream "env_name" {
      command = ["true"]
      env     = { "A=B" = 1 }
    }
    workstream "env_reserved" {
      command = ["true"]
      env     = { RUNNER_PRD = "x" }
    }
    workstream "env_value" {
      command = ["true"]
      env     = { A = ["x"] }
    }
    workstream "shell" {
      script = "true"
      shell  = []
    }
    workstream "call" { command = ["echo", tonumber("x"), file("missing.txt"), file("../go.mod")] }
    workstream "globs" {
      command   = ["true"]
      inputs    = ["a/[", "/etc/passwd"]
      artifacts = ["{../x,y}"]
    }
    workstream "list" {
      command = ["true"]
      inputs  = "a"
    }
    workstream "effect" {
      command         = ["true"]
      effect          = "onec"
      on_gate_failure = "again"
      timeout         = "10 minutes"
    }
    workstream "once" {
      command         = ["true"]
      effect          = "once"
      on_gate_failure = "rerun"
      retry { attempts = 2 }
    }
    workstream "retry" {
      command = ["true"]
      retry { attempts = 1.5 }
      retry {}
    }
    workstream "verify" {
      command = ["true"]
      verify  = "test -f x"
      when    = "perhaps"
      protect = ["x"]
    }
    workstream "when_null" {
      command = ["true"]
      when    = null
    }
  }
}
