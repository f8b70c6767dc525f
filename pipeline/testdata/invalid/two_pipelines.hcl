# Must give, by line:
# 8: Duplicate pipeline block
pipeline "PRD-001" {
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
pipeline "PRD-002" {}
