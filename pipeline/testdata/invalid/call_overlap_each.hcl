# Must give, by line:
# 15: Overlapping artifacts
# 28: Overlapping artifacts
pipeline "PRD-001" {
  phase "keys" {
    workstream "apart" {
      for_each = toset(["eu", "us"])
      call {
        file = "called/to.hcl"
        vars = { path = "out/${each.key}.csv" }
      }
    }
    workstream "same" {
      for_each = { eu = "one.csv", us = "one.csv" }
      call {
        file = "called/to.hcl"
        vars = { path = "same/${each.value}" }
      }
    }
  }
  phase "plain" {
    workstream "made" {
      command   = ["touch", "made/eu.csv"]
      artifacts = ["made/eu.csv"]
    }
    workstream "calls" {
      for_each = toset(["eu", "us"])
      call {
        file = "called/to.hcl"
        vars = { path = "made/${each.key}.csv" }
      }
    }
  }
}
