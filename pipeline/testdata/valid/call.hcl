variable "password" {
  default   = "sensitive"
  sensitive = true
}
pipeline "PRD-001" {
  outputs = { last = workstream.day["tue"].outputs.rows, status = workstream.load.status }

  phase "a" {
    workstream "first" { command = ["true"] }
    workstream "load" {
      depends_on = [workstream.first]
      call {
        file = "called/load.hcl"
        vars = {
          table    = workstream.first.outputs.table
          days     = 3
          password = var.password
          regions  = ["eu", "us"]
        }
      }
    }
    workstream "day" {
      for_each = toset(["mon", "tue"])
      call {
        file = "called/load.hcl"
        vars = { table = each.key }
      }
    }
  }
}
