# A database migration that undoes itself. Each of its three steps changes the database and
# writes the new schema to schema/. Then a gate finds that the second step was wrong, when
# the third has dropped what was needed to correct it. Runner restores both, the database
# and schema/. In examples/migration:
#
#   runner build PRD-008                   fails, and is rolled back
#   ./sql.sh schema && ls schema           the database is as before, and schema/ is gone
#   cp fixes/0002_fill_total.sql totals/
#   runner build PRD-008 --resume          migrates shop.db, and makes report.txt
#
# The same with PostgreSQL, after `createdb shop`:
#
#   export PRDRUNNER_VAR_driver=postgres
#   export PRDRUNNER_VAR_database=postgres://user:password@localhost:5432/shop

variable "driver" {
  type    = string
  default = "sqlite"
}

variable "database" {
  type      = string
  default   = null # shop.db
  sensitive = true # a URL may hold a password
}

locals {
  database = coalesce(var.database, "shop.db")
  shop     = { DRIVER = var.driver, DATABASE = local.database } # for sql.sh
}

pipeline "PRD-008" {
  title = "Give the shop's orders a total"

  savepoint "shop" {
    driver = var.driver
    url    = local.database
  }

  defaults {
    timeout = "10m" # the first build compiles SQLite
  }

  phase "migrate" {
    workstream "shop" {
      env    = local.shop
      script = "./sql.sh schema 2>/dev/null || ./sql.sh < shop.sql"
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
      artifacts  = ["report.txt"]
      env        = local.shop
      script     = "echo 'SELECT sum(total_cents) FROM orders' | ./sql.sh > report.txt"
    }
  }
}
