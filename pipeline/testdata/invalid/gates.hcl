# Must give, by line:
# 30: Unused gate
# 30: Unknown variable
# 31: Reference outside for_each
# 37: Duplicate gate
# 38: Invalid gate
# 39: Invalid gate
# 43: Missing required argument
# 44: Metric without bound
# 47: Argument without effect
# 48: Argument without effect
# 52: Argument without effect
# 56: Argument without effect
# 60: Conflicting bounds
# 62: Invalid number
# 66: Conflicting bounds
# 66: Incorrect value type
# 70: Invalid value for argument
# 71: Incorrect value type
# 74: Missing required argument
# 77: Sensitive value not allowed
# 80: Incorrect value type
# 81: Incorrect value type
# 83: Result of a workstream that does not run earlier
variable "token" {
  sensitive = true
  default   = "secret-token"
}
gate "lint" { command = ["true"] }
gate "unused" { command = ["true", var.tokn, workstream.WS1.status] }
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
