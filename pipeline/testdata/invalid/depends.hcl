# Must give, by line:
# 13: Invalid dependency
# 13: Invalid dependency
# 13: Dependency on itself
# 13: Dependency on a later phase
# 16: Dependency cycle
# 29: Invalid dependency
# 33: Unknown workstream
# 33: Invalid reference
pipeline "PRD-001" {
  phase "a" {
    workstream "WS1" {
      depends_on = [workstream.WS1, workstream.late, "WS2", workstream.WS2.outputs]
      command    = ["true"]
    }
    workstream "A" {
      depends_on = [workstream.B]
      command    = ["true"]
    }
    workstream "B" {
      depends_on = [workstream.C]
      command    = ["true"]
    }
    workstream "C" {
      depends_on = [workstream.A]
      command    = ["true"]
    }
    workstream "D" {
      depends_on = workstream.A
      command    = ["true"]
    }
    workstream "E" {
      depends_on = [workstream.Z, workstream.A["x"]]
      command    = ["true"]
    }
  }
  phase "b" {
    workstream "late" { command = ["true"] }
  }
}
