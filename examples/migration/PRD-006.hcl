# A database migration: a backup, a rehearsal on a copy, a person's yes, and only then the
# real thing, which happens once. A rollback brings the database back.
#
#   runner -C examples/migration build PRD-006             rehearses, and stops for the approval
#   runner -C examples/migration approve PRD-006
#   runner -C examples/migration build PRD-006 --resume    migrates app.db
#   runner -C examples/migration checkpoint rollback PRD-006 4   app.db is as it was after step 4
#
# Change a migration after the approval, or go back before it, and it is asked for again.

pipeline "PRD-006" {
  title = "Migrate the shop's database"

  defaults {
    timeout = "10m" # the first build compiles SQLite
  }

  phase "rehearse" {
    workstream "tool" {
      command   = ["go", "build", "-trimpath", "-buildvcs=false", "-o", "build/db", "./cmd/db"]
      inputs    = ["go.mod", "go.sum", "cmd/db/*.go"]
      artifacts = ["build/db"]
    }

    # Where there is no database yet, it is made as the shop has it.
    workstream "database" {
      depends_on = [workstream.tool]
      script     = "test -e app.db || build/db run app.db < shop.sql"
      artifacts  = ["app.db"]
    }

    workstream "backup" {
      depends_on = [workstream.database]
      command    = ["build/db", "copy", "app.db", "backup/app.db"]
      inputs     = ["app.db"]
      artifacts  = ["backup/app.db"]
    }

    workstream "rehearsal" {
      depends_on = [workstream.backup]
      inputs     = ["migrations/*.sql"]
      artifacts  = ["build/rehearsal.db", "build/schema.sql"]
      script     = <<-EOT
        build/db copy backup/app.db build/rehearsal.db
        build/db apply build/rehearsal.db
        build/db describe build/rehearsal.db > build/schema.tmp
        mv build/schema.tmp build/schema.sql
      EOT

      gate "no-row-lost" { command = ["build/db", "check", "build/rehearsal.db", "backup/app.db"] }
    }

    gate "go-ahead" {
      inputs = ["migrations/*.sql", "build/schema.sql"]
      approval { message = "Migrate app.db to what build/schema.sql shows?" }
    }
  }

  phase "migrate" {
    # Nobody may migrate twice by accident: after a kill in the middle, verify looks.
    workstream "apply" {
      depends_on = [workstream.rehearsal]
      effect     = "once"
      command    = ["build/db", "apply", "app.db"]
      verify     = ["build/db", "verify", "app.db"]
      inputs     = ["migrations/*.sql"]
      artifacts  = ["app.db"]

      gate "no-row-lost" { command = ["build/db", "check", "app.db", "backup/app.db"] }
    }
  }
}
