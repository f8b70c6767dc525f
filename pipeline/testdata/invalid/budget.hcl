# Must give, by line:
# 10: Invalid number
# 12: Duplicate budget block
# 17: Invalid number
# 18: Invalid duration
# 19: Unsupported argument
# 24: Empty budget
pipeline "PRD-001" {
  budget {
    max_cost_usd = 0
  }
  budget {
    max_tokens = 5
  }
  phase "a" {
    budget {
      max_tokens   = 1.5
      max_duration = "soon"
      max_euros    = 5
    }
    workstream "b" { command = ["true"] }
  }
  phase "c" {
    budget {}
    workstream "d" { command = ["true"] }
  }
}
