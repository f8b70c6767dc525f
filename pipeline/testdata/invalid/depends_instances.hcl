# Must give, by line:
# 13: Dependency cycle
# 18: Dependency cycle
# 25: Unknown workstream instance
# 29: Invalid dependency
# 33: Invalid dependency
# 37: Invalid dependency
# 41: Invalid reference
# 45: Value not known yet
# 50: Result of a workstream that does not run earlier
pipeline "PRD-001" {
  phase "build" {
    workstream "a" {
      for_each   = { x = ["y"], y = ["z"], z = ["x"] }
      depends_on = [for name in each.value : workstream.a[name]]
      command    = ["true"]
    }
    workstream "self" {
      for_each   = toset(["x"])
      depends_on = [workstream.self["x"]]
      command    = ["true"]
    }
    workstream "b" {
      for_each   = { x = ["why"] }
      depends_on = [for name in each.value : workstream.a[name]]
      command    = ["true"]
    }
    workstream "c" {
      depends_on = [for name in ["x"] : workstream.a]
      command    = ["true"]
    }
    workstream "d" {
      depends_on = { for name in ["x"] : name => workstream.a[name] }
      command    = ["true"]
    }
    workstream "e" {
      depends_on = flatten([workstream.b])
      command    = ["true"]
    }
    workstream "f" {
      depends_on = [for name in ["x"] : workstream.e[name]]
      command    = ["true"]
    }
    workstream "g" {
      depends_on = [for name in [workstream.e.outputs.name] : workstream.b[name]]
      command    = ["true"]
    }
    workstream "h" {
      for_each = toset(["x", "y"])
      command  = ["echo", workstream.h["x"].outputs.value]
    }
  }
}
