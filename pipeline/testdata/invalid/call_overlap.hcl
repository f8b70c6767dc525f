# Must give, by line:
# 9: Overlapping artifacts
# 23: Overlapping artifacts
pipeline "PRD-001" {
  phase "a" {
    workstream "each" {
      for_each  = toset(["eu", "us"])
      artifacts = ["orders-${each.key}.csv"]
      call {
        file = "etl-job.hcl"
        vars = { table = each.key, days = 7 }
      }
    }
  }
  phase "b" {
    workstream "plain" {
      command   = ["touch", "orders.csv"]
      artifacts = ["orders.csv"]
    }
    workstream "other" {
      depends_on = []
      inputs     = ["x"]
      call {
        file = "etl-job.hcl"
        vars = { table = "x", days = 7 }
      }
    }
    workstream "after" {
      depends_on = [workstream.plain, workstream.other]
      call {
        file = "etl-job.hcl"
        vars = { table = "y", days = 7 }
      }
    }
  }
}
