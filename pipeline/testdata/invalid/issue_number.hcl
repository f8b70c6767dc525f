# Must give, by line:
# 5: Invalid issue number
pipeline "PRD-001" {
  issue {
    number  = 40 + length(var.more)
    command = ["gh", "issue", "view", "42"]
  }
  phase "one" {
    workstream "a" { command = ["true"] }
  }
}
