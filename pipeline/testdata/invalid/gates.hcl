# Must give, by line:
# 29: Unused gate
# 30: Reference outside for_each
# 36: Duplicate gate
# 37: Invalid gate
# 38: Invalid gate
# 42: Missing required argument
# 43: Metric without bound
# 46: Argument without effect
# 47: Argument without effect
# 51: Argument without effect
# 55: Argument without effect
# 59: Conflicting bounds
# 61: Invalid number
# 65: Conflicting bounds
# 65: Incorrect value type
# 69: Invalid value for argument
# 70: Incorrect value type
# 73: Missing required argument
# 76: Sensitive value not allowed
# 79: Incorrect value type
# 80: Incorrect value type
# 82: Result of a workstream that does not run earlier
variable "token" {
  sensitive = true
  default   = "secret-token"
}
gate "lint" { command = ["true"] }
gate "unused" { command = ["true"] }
gate "uses_each" { command = ["echo", each.key] }
pipeline "PRD-001" {
  phase "a" {
    workstream "WS1" {
      command = ["true"]
      gates   = [gate.lint, gate.uses_each]
      gate "lint" { command = ["true"] }
      gate "none" {}
      gate "two" {
        command   = ["true"]
        condition = true
      }
      gate "silent" { condition = true }
      gate "unbound" { metric = "x" }
      gate "stray" {
        approval { message = "ok?" }
        timeout = "1m"
        dir     = "x"
      }
      gate "message" {
        command       = ["true"]
        error_message = "x"
      }
      gate "bounds" {
        command = ["true"]
        min     = 1
      }
      gate "range" {
        metric   = "x"
        min      = 2
        max      = 1
        max_drop = -1
      }
      gate "equal" {
        metric = "x"
        equals = [1]
        max    = 1
      }
      gate "words" {
        metric = ""
        min    = "many"
      }
      gate "approval" {
        approval { timeout = "1m" }
      }
      gate "secret" {
        approval { message = var.token }
      }
      gate "type" {
        condition     = "perhaps"
        error_message = ["x"]
      }
      gate "peer" { command = ["echo", workstream.WS1.outputs.x, workstream.WS2.outputs.x] }
    }
    workstream "WS2" { command = ["true"] }
    gate "whole" { command = ["echo", workstream.WS2.outputs.x] }
  }
}
