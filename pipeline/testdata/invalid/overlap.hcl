# Must give, by line:
# 13: Overlapping artifacts
# 17: Overlapping artifacts
# 22: Overlapping artifacts
pipeline "PRD-001" {
  phase "a" {
    workstream "A" {
      command   = ["true"]
      artifacts = ["gen/**/*.go", "same.txt"]
    }
    workstream "B" {
      command   = ["true"]
      artifacts = ["gen/api/model.go"]
    }
    workstream "C" {
      command   = ["true"]
      artifacts = ["same.txt"]
    }
    workstream "each" {
      for_each  = toset(["x", "y"])
      command   = ["true"]
      artifacts = ["each.txt"]
    }
  }
}
