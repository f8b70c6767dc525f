# Must give, by line:
# 9: Cache of a workstream that is not pure
# 14: Cache of a workstream that is not pure
# 19: Incorrect value type
pipeline "PRD-001" {
  phase "a" {
    workstream "idempotent" {
      command = ["true"]
      cache   = true
    }
    workstream "once" {
      command = ["true"]
      effect  = "once"
      cache   = true
    }
    workstream "number" {
      command = ["true"]
      effect  = "pure"
      cache   = 3
    }
    workstream "said" {
      command = ["true"]
      cache   = false
    }
    workstream "pure" {
      command = ["true"]
      effect  = "pure"
      cache   = true
    }
  }
}
