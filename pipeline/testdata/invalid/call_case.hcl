# Must give, by line:
# 15: Calls that differ only in case
# 23: Calls that differ only in case
pipeline "PRD-001" {
  phase "main" {
    workstream "etl" {
      call {
        file = "called/to.hcl"
        vars = { path = "one" }
      }
    }
    workstream "day" {
      depends_on = [workstream.etl]
      for_each   = { a = "two", A = "three" }
      call {
        file = "called/to.hcl"
        vars = { path = each.value }
      }
    }
  }
  phase "again" {
    workstream "ETL" {
      call {
        file = "called/to.hcl"
        vars = { path = "one" }
      }
    }
    workstream "plain" {
      for_each = toset(["a", "A"])
      command  = ["true"]
    }
  }
}
