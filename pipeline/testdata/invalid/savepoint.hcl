# Must give, by line:
# 21: Missing required argument
# 21: Missing required argument
# 23: Duplicate savepoint name
# 27: Invalid name
# 32: Invalid value for argument
# 34: Invalid value for argument
# 39: Template without PostgreSQL
# 43: Value not known yet
# 47: Missing required argument
# 50: Missing required argument
# 51: Missing required argument
# 53: Unsupported argument
# 59: Invalid reference
# 60: Unsupported block type
# 65: Unknown savepoint
# 72: Invalid savepoint reference
# 72: Invalid savepoint reference
# 78: Invalid savepoint reference
pipeline "PRD-001" {
  savepoint "empty" {}

  savepoint "empty" {
    driver = "sqlite"
    url    = "twice.db"
  }
  savepoint "no name" {
    driver = "sqlite"
    url    = "no-name.db"
  }
  savepoint "words" {
    driver = "postgresql"
    url    = "postgres://localhost/words"
    method = "copy"
  }
  savepoint "orders" {
    driver = "mysql"
    url    = "mysql://localhost/orders"
    method = "template"
  }
  savepoint "result" {
    driver = "sqlite"
    url    = workstream.a.outputs.database
  }
  savepoint "blank" {
    driver = "sqlite"
    url    = ""
  }
  savepoint "null" {
    driver = null
    url    = null
    # An argument of another tool.
    password = "secret"
  }

  phase "one" {
    workstream "a" {
      command = ["a"]
      title   = savepoint.orders
      savepoint "b" {}
    }
    workstream "b" {
      command = ["b"]
      protect {
        savepoints = [savepoint.order]
      }
    }
    workstream "c" {
      depends_on = [workstream.b]
      command    = ["c"]
      protect {
        savepoints = ["orders", savepoint.orders.url]
      }
    }
    workstream "d" {
      command = ["d"]
      protect {
        savepoints = savepoint.orders
      }
    }
  }
}
