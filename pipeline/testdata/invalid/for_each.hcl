# Must give, by line:
# 25: Invalid for_each
# 26: Unknown reference
# 29: Sensitive value not allowed
# 33: Invalid for_each
# 37: Invalid for_each
# 41: Invalid for_each key
# 45: Invalid reference
# 51: Invalid duration
# 58: Unknown workstream instance
# 59: Invalid reference
# 59: Result of a workstream that does not run earlier
# 59: Result of a workstream that does not run earlier
# 63: Result of a workstream that does not run earlier
# 63: Unknown workstream instance
# 66: Sensitive value not allowed
# 71: Result of a workstream that does not run earlier
variable "token" {
  sensitive = true
  default   = "secret-token"
}
pipeline "PRD-001" {
  phase "a" {
    workstream "list" {
      for_each = ["a", "b"]
      command  = ["true", each.vaule]
    }
    workstream "secret" {
      for_each = { a = var.token }
      command  = ["true"]
    }
    workstream "text" {
      for_each = "x"
      command  = ["true"]
    }
    workstream "none" {
      for_each = null
      command  = ["true"]
    }
    workstream "empty_key" {
      for_each = toset([""])
      command  = ["true"]
    }
    workstream "results" {
      for_each = workstream.service.outputs
      command  = ["true"]
    }
    workstream "nothing" {
      for_each = toset([])
      command  = ["true"]
      timeout  = "soon"
    }
    workstream "service" {
      for_each = toset(["player", "visit"])
      command  = ["true"]
    }
    workstream "user" {
      depends_on = [workstream.service["plyer"]]
      command    = ["echo", workstream.service.outputs.x, workstream.service["visit"].outputs.x]
    }
    workstream "peer" {
      for_each = toset(["player", "vist"])
      command  = ["echo", workstream.service[each.key].outputs.x]
    }
    workstream "keyed" {
      depends_on = [workstream.service[var.token], workstream.service[null]]
      command    = ["true"]
    }
    workstream "own" {
      for_each = toset(["x", "y"])
      command  = ["echo", workstream.own["x"].outputs.x]
    }
  }
}
