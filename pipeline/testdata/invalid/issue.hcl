# Must give, by line:
# 7: Issue without a source
# 8: Unknown phase
# 10: Duplicate issue block
pipeline "PRD-001" {

  issue {
    labels = { one = "state:one", too = "state:two" }
  }
  issue { command = ["gh", "issue", "view"] }
  phase "one" {
    workstream "b" { command = ["true"] }
  }
}
