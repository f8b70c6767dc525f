# Must give, by line:
# 4: Invalid issue number
pipeline "PRD-001" {
  issue { number = 4.5 }
  phase "one" {
    workstream "a" { command = ["true"] }
  }
}
