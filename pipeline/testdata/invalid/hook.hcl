# Must give, by line:
# 26: Hook with a label
# 29: Hook with a label
# 29: Unknown hook event
# 30: Hook with a label
# 30: Missing command
# 37: Missing hook event
# 40: Missing hook event
# 42: Missing command
# 43: Missing hook event
# 51: Unknown hook event
# 55: Unknown hook event
# 55: Duplicate hook event
# 59: Incorrect value type
# 63: Unsupported argument
# 67: Unsupported argument
# 73: Result not certain
# 77: Result not certain
# 81: Unknown workstream
# 81: Invalid reference
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
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
