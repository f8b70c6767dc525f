# Must give, by line:
# 6: Value not known yet
# 10: Value not known yet
# 11: Unknown reference
pipeline "PRD-001" {
  title = issue.title
  phase "one" {
    workstream "a" {
      command = ["true"]
      inputs  = [issue.title]
      env     = { WHO = issue.author, WHAT = issue.body }
    }
  }
  issue { file = "issue.json" }
}
