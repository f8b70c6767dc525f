# Must give, by line:
# 18: Files in for_each
# 22: Result of a workstream that does not run earlier
# 26: Invalid for_each
# 30: Value not known yet
# 34: Result of a workstream that does not run earlier
# 38: Unknown workstream
# 43: Limit without results
# 48: Invalid number
pipeline "PRD-001" {
  phase "one" {
    workstream "split" { command = ["true"] }
    gate "names" { command = ["true"] }
  }
  phase "work" {
    workstream "list" { command = ["true"] }
    workstream "files" {
      for_each = toset([for name in workstream.split.artifacts : file(name)])
      command  = ["true"]
    }
    workstream "same_phase" {
      for_each = toset(jsondecode(workstream.list.outputs.names))
      command  = ["true"]
    }
    workstream "text" {
      for_each = workstream.split.outputs.names
      command  = ["true"]
    }
    workstream "metric" {
      for_each = toset([for i in range(metric.count) : tostring(i)])
      command  = ["true"]
    }
    workstream "later" {
      for_each = workstream.last.outputs
      command  = ["true"]
    }
    workstream "unknown" {
      for_each = workstream.nothing.outputs
      command  = ["true"]
    }
    workstream "static" {
      for_each     = toset(["a"])
      max_elements = 3
      command      = ["true"]
    }
    workstream "limit" {
      for_each     = workstream.split.outputs
      max_elements = 0
      command      = ["true"]
    }
  }
  phase "end" {
    workstream "last" { command = ["true"] }
  }
}
