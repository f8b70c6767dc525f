# Must give, by line:
# 24: Invalid PRD id
# 25: Unsupported argument
# 26: Incorrect value type
# 27: Path outside the workspace
# 28: Invalid duration
# 30: Invalid duration
# 31: Invalid value for argument
# 32: Incorrect value type
# 33: Unsupported argument
# 35: Invalid number
# 37: Invalid retry
# 38: Invalid number
# 39: Invalid number
# 40: Invalid exit code
# 40: Invalid exit code
# 40: Invalid exit code
# 43: Duplicate defaults block
# 44: Unsupported block type
# 46: Invalid number
# 49: Missing workstream
# 50: Duplicate phase name
# 51: Duplicate workstream name
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
  phase "a" {
    max_parallel = 0
    workstream "WS1" { command = ["true"] }
  }
  phase "empty" {}
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
