# Must give, by line:
# 18: Missing required argument
# 19: Incorrect value type
# 25: Invalid number
# 26: Result of a workstream that does not run earlier
# 29: Once workstream in a phase that repeats
# 35: Reference outside repeat
# 36: Reference outside repeat
# 43: Unknown reference
# 48: Value not known yet
# 49: Duplicate repeat block
# 55: Unsupported argument
pipeline "PRD-001" {
  # A comment, so that the numbers above stay as they are when a line is added:
  # there is none.

  phase "a" {
    repeat {
      until = "soon"
    }
    workstream "a1" { command = ["true"] }
  }
  phase "b" {
    repeat {
      max   = 0
      until = workstream.later.outputs.x == "1"
    }
    workstream "b1" { command = ["true"] }
    workstream "b2" {
      command = ["true"]
      effect  = "once"
    }
  }
  phase "c" {
    when = iteration.index == 1
    workstream "c1" { command = ["echo", iteration.index] }
  }
  phase "d" {
    repeat { max = 3 }
    workstream "later" {
      command = [
        "echo",
        iteration.number,
      ]
    }
  }
  phase "e" {
    repeat { max = iteration.index }
    repeat { max = 2 }
    workstream "e1" { command = ["true"] }
  }
  phase "f" {
    repeat {
      max   = 2
      times = 3
    }
    workstream "f1" { command = ["true"] }
  }
}
