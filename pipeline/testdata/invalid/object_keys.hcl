# Must give, by line:
# 9: Duplicate key
# 16: Duplicate key
# 20: Duplicate key

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
