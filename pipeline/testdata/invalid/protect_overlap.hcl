# Must give, by line:
# 37: Overlapping protection
# 42: Overlapping protection
# 42: Overlapping protection
# 49: Overlapping protection
# 49: Overlapping protection
# 55: Overlapping artifacts
# 62: Overlapping protection
# 62: Overlapping protection
# 63: Overlapping protection
# 64: Overlapping protection
# 75: Overlapping protection
variable "copy" { default = "orders" }

pipeline "PRD-001" {
  savepoint "orders" {
    driver = "mysql"
    url    = "mysql://localhost/orders"
  }
  savepoint "copy" {
    driver = "mysql"
    url    = "mysql://localhost/${var.copy}"
  }
  savepoint "same" {
    driver = "sqlite"
    url    = "mysql://localhost/orders"
  }
  phase "scopes" {
    workstream "makes" {
      command   = ["a"]
      artifacts = ["gen/api/model.go"]
    }
    workstream "whole" {
      command = ["a"]
      # Its own artifacts are not in question.
      artifacts = ["gen/whole.go"]
      protect { scope = ["gen"] }
    }
    workstream "part" {
      command = ["a"]
      protect {
        scope = ["gen/*.go"]
      }
    }
    workstream "each" {
      for_each = toset(["x", "y"])
      command  = ["a"]
      protect {
        scope = ["each/**"]
      }
    }
    workstream "makes_each" {
      for_each  = toset(["x", "y"])
      command   = ["a"]
      artifacts = ["each/made"]
    }
    workstream "each_all" {
      for_each  = toset(["x", "y"])
      command   = ["a"]
      artifacts = ["all/${each.key}/made"]
      protect {
        scope      = ["all/**"]
        savepoints = [savepoint.orders]
        state      = ["all"]
      }
    }
  }
  phase "values" {
    workstream "a" {
      command = ["a"]
      protect { savepoints = [savepoint.orders] }
    }
    workstream "b" {
      command = ["a"]
      protect { savepoints = [savepoint.copy] }
    }
    workstream "c" {
      command = ["a"]
      protect { savepoints = [savepoint.same] }
    }
  }
}
