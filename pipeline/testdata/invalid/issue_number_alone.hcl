# Must give, by line:
# 5: Issue without a source
pipeline "PRD-001" {

  issue {
    number = 42
    labels = { one = "state:one" }
  }
  phase "one" {
    workstream "a" { command = ["true"] }
  }
}
