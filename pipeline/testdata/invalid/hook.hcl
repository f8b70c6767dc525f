# Must give, by line:
# 30: Hook with a label
# 33: Hook with a label
# 33: Unknown hook event
# 34: Hook with a label
# 34: Missing command
# 41: Missing hook event
# 44: Missing hook event
# 46: Missing command
# 47: Missing hook event
# 55: Unknown hook event
# 59: Unknown hook event
# 59: Duplicate hook event
# 63: Incorrect value type
# 67: Unsupported argument
# 71: Unsupported argument
# 77: Result not certain
# 81: Result not certain
# 85: Unknown workstream
# 85: Invalid reference
# 90: Unsupported argument
# 92: Invalid number
# 93: Unsupported argument
# 95: Duplicate retry block
variable "events" {
  type    = list(string)
  default = ["failed"]
}
pipeline "PRD-001" {
  hook "failed" {
    command = ["true"]
  }
  hook "completed" { command = ["true"] }
  hook "paused" "interrupted" {
    # a label, and one event that the argument names
  }
  hook {
    on     = var.events
    script = "a constant list is right"
  }
  hook { command = ["true"] }
  hook {
    command = ["true"]
    on      = []
  }
  hook { on = ["paused"] }
  hook {
    script = "null counts as not given"
    shell  = ["sh", "-c"]
    # the place is the whole hook
    on = null
  }
  hook {
    command = ["true"]
    on      = ["failure"]
  }
  hook {
    command = ["true"]
    on      = ["paused", "complete", "paused", "done"]
  }
  hook {
    command = ["true"]
    on      = "failed"
  }
  hook {
    command = ["true"]
    event   = "failed"
  }
  hook {
    command = ["true"]
    trigger = "x"
    on      = ["failed"]
  }
  hook {
    on = ["complete", "failed"]
    # results are certain after complete alone
    command = ["echo", workstream.WS1.outputs.x]
  }
  hook {
    on      = ["paused"]
    command = ["echo", workstream.WS1.outputs.x]
  }
  hook {
    on      = ["complete"]
    command = ["echo", workstream.WS1["k"].outputs.x, workstream.WS2.artifacts]
  }
  hook {
    on      = ["failed"]
    command = ["true"]
    retries = 3
    retry {
      attempts = 0
      pause    = "1s"
    }
    retry {}
  }
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
