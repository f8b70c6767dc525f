# Must give, by line:
# 4: Invalid expression
pipeline "PRD-001" {
  title =
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
