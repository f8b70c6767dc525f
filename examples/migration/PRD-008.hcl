# A database migration that undoes itself. Its three steps change the database, and each
# writes the new schema to schema/. Then a gate finds a mistake of the second step, and
# Runner restores both, the database and schema/. In examples/migration:
#
#   runner build PRD-008              fails, and is rolled back
#   ./sql.sh schema; ls schema        the database is as before, and schema/ is not there
#   cp fixes/0002_fill_total.sql totals/
#   runner build PRD-008 --resume     migrates shop.db, and makes the report
#
# With PostgreSQL, after `createdb shop`, add to both commands that build:
#
#   --var driver=postgres --var database=postgres://user:password@localhost:5432/shop

variable "driver" {
  type    = string
  default = "sqlite"
}

variable "database" {
  type      = string
  default   = "shop.db"
  sensitive = true # it may hold a password
}

locals {
  shop = { DRIVER = var.driver, DATABASE = var.database } # for sql.sh
}

pipeline "PRD-008" {
  title = "Give the shop's orders a total"

  savepoint "shop" {
    driver = var.driver
    url    = var.database
  }

  defaults {
    timeout = "10m" # the first build compiles SQLite
  }

  phase "migrate" {
    workstream "tool" {
      when      = var.driver == "sqlite"
      command   = ["go", "build", "-trimpath", "-buildvcs=false", "-o", "build/db", "./cmd/db"]
      inputs    = ["go.mod", "go.sum", "cmd/db/*.go"]
      artifacts = ["build/db"]
    }

    workstream "shop" {
      depends_on = [workstream.tool]
      env        = local.shop
      script     = "./sql.sh schema 2>/dev/null || ./sql.sh < shop.sql"
    }

    workstream "totals" {
      depends_on = [workstream.shop]
      inputs     = ["totals/*.sql"]
      artifacts  = ["schema/*"]
      env        = local.shop
      mutates    = true # the database, which is no artifact
      script     = <<-EOT
        mkdir -p schema
        for step in totals/*.sql; do
          ./sql.sh < $step
          ./sql.sh schema > schema/$(basename $step .sql).txt
        done
      EOT

      protect {
        scope      = ["schema/**"]
        savepoints = [savepoint.shop]
      }

      gate "every-order-has-a-total" {
        env    = local.shop
        script = <<-EOT
          missing=$(echo "SELECT count(*) FROM orders WHERE total_cents IS NULL" | ./sql.sh)
          test $missing = 0 || { echo "$missing orders have no total" >&2; exit 1; }
        EOT
      }
    }

    workstream "report" {
      depends_on = [workstream.totals]
      artifacts  = ["build/report.txt"]
      env        = local.shop
      script     = "echo 'SELECT customer_id, sum(total_cents) FROM orders GROUP BY 1 ORDER BY 1' | ./sql.sh > build/report.txt"
    }
  }
}
