# Must give, by line:
# 7: Issue without a source
# 9: Invalid reference
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      command = ["echo", "${issue.number}", issue.title]
      gate "g" {
        condition     = issue == null
        error_message = "there is an issue"
      }
    }
  }
  issue { number = 42 }
}
