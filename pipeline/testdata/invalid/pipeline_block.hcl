# Must give, by line:
# 29: Invalid PRD id
# 30: Unsupported argument
# 31: Incorrect value type
# 32: Path outside the workspace
# 33: Invalid duration
# 35: Invalid duration
# 36: Invalid value for argument
# 37: Incorrect value type
# 38: Unsupported argument
# 40: Invalid number
# 42: Invalid retry
# 43: Invalid number
# 44: Invalid number
# 45: Invalid exit code
# 45: Invalid exit code
# 45: Invalid exit code
# 48: Duplicate defaults block
# 49: Unsupported block type
# 50: Unknown hook event
# 51: Missing command
# 52: Result not certain
# 53: Invalid reference
# 53: Unknown workstream
# 55: Invalid number
# 58: Missing workstream
# 59: Duplicate phase name
# 60: Duplicate workstream name
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
  quota {}
  hook "completed" { command = ["true"] }
  hook "failed" {}
  hook "paused" { command = ["echo", workstream.WS1.outputs.x] }
  hook "complete" { command = ["echo", workstream.WS1["k"].outputs.x, workstream.WS2.artifacts] }
  phase "a" {
    max_parallel = 0
    workstream "WS1" { command = ["true"] }
  }
  phase "empty" {}
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
