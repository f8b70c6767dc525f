# Must give, by line:
# 10: Duplicate key
# 17: Duplicate key
# 21: Duplicate key
# 22: Duplicate key

locals {
  steps = {
    lint = "lint"
    "lint" = "again"
    (local.one) = "computed"
  }
  one = "lint"
  deep = [
    {
      a = 1
      a = 2
    },
    { a = 1 },
    { a = 1, b = 2 },
    { for_all = { c = 1, "c" = 2 } },
    { 1 = "a", "1" = "b" },
  ]
}

pipeline "PRD-001" {
  phase "all" {
    workstream "step" {
      for_each = local.steps
      command  = ["echo", each.key, each.value, jsonencode(local.deep)]
    }
  }
}
