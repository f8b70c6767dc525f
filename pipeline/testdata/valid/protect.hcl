variable "database_url" {
  type      = string
  sensitive = true
  default   = "postgres://app:not-a-secret@localhost:5432/orders"
}

variable "test" {
  type    = string
  default = "test.db"
}

locals {
  regions = toset(["eu", "us"])
}

pipeline "PRD-021" {
  savepoint "orders" {
    driver = "postgres"
    url    = var.database_url
    method = "template"
  }
  savepoint "stock" {
    driver = "mysql"
    url    = "mysql://app@localhost:3306/${lower(pipeline.id)}"
  }
  savepoint "test" {
    driver = "sqlite"
    url    = "db/${var.test}"
  }

  phase "schema" {
    workstream "migrate" {
      command   = ["./migrate.sh"]
      artifacts = ["db/schema.sql"]
      mutates   = true

      retry { attempts = 2 }
      protect {
        scope        = ["db/**", "config/*.yaml", "!config/local.yaml"]
        savepoints   = [savepoint.orders, savepoint.stock, savepoint.orders]
        state        = ["schema_version"]
        expiry       = "24h"
        on_failure   = "keep"
        strict_scope = true
      }
    }
    # It waits for migrate, so it may protect the same things.
    workstream "fill" {
      depends_on = [workstream.migrate]
      command    = ["./fill.sh"]

      protect {
        scope      = ["db/**"]
        savepoints = [savepoint.orders]
        state      = ["schema_version"]
        expiry     = "never"
      }
    }
    workstream "local" {
      command   = ["./local.sh"]
      artifacts = ["config/local.yaml"]
    }
    workstream "region" {
      for_each  = local.regions
      command   = ["./region.sh", each.key]
      artifacts = ["regions/${each.key}/done"]

      protect {
        scope = ["regions/${each.key}"]
        state = ["region_${each.key}"]
      }
    }
  }

  # A later phase does not run at the same time.
  phase "test" {
    workstream "check" {
      command = ["./test.sh"]

      protect {
        scope      = []
        savepoints = [savepoint.test, savepoint.orders]
      }
      gate "passed" {
        command = ["./passed.sh"]
      }
    }
  }
}
