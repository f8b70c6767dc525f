# Must give, by line:
# 27: Invalid PRD id
# 28: Unsupported argument
# 29: Incorrect value type
# 30: Path outside the workspace
# 31: Invalid duration
# 33: Invalid duration
# 34: Invalid value for argument
# 35: Incorrect value type
# 36: Unsupported argument
# 38: Invalid number
# 40: Invalid retry
# 41: Invalid number
# 42: Invalid number
# 43: Invalid exit code
# 43: Invalid exit code
# 43: Invalid exit code
# 46: Duplicate defaults block
# 47: Unsupported block type
# 48: Unknown hook event
# 49: Missing command
# 50: Result not certain
# 52: Invalid number
# 55: Missing workstream
# 56: Duplicate phase name
# 57: Duplicate workstream name
pipeline "prd-1" {
  titel    = "x"
  type     = ["a"]
  document = "../PRD.md"
  timeout  = "10"
  defaults {
    timeout = "-1m"
    effect  = "idempotant"
    shell   = "sh"
    retries = 1
    retry {
      attempts         = 0
      initial_interval = "1m"
      max_interval     = "1s"
      multiplier       = 0.5
      jitter           = 2
      on_exit_codes    = [0, 256, null]
    }
  }
  defaults {}
  budget {}
  hook "completed" { command = ["true"] }
  hook "failed" {}
  hook "paused" { command = ["echo", workstream.WS1.outputs.x] }
  phase "a" {
    max_parallel = 0
    workstream "WS1" { command = ["true"] }
  }
  phase "empty" {}
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
