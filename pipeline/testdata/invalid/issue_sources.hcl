# Must give, by line:
# 6: Issue with two sources
pipeline "PRD-001" {
  issue {
    command = ["gh", "issue", "view"]
    file    = "issue.json"
  }
  phase "one" {
    workstream "b" { command = ["true"] }
  }
}
