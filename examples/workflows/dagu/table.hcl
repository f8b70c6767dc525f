# The rows of one month from a table of data/, cleaned and checked. PRD-106.hcl calls this pipeline for
# each table. By itself:
#
#   runner -C examples/workflows/dagu build -f table.hcl --var table=orders --var month=2026-09

variable "table" { type = string }
variable "month" { type = string }

locals {
  directory = "out/${var.table}"
}

pipeline "PRD-116" {
  title   = "The rows of ${var.table} in ${var.month}"
  outputs = { rows = workstream.validate.outputs.rows }

  defaults {
    env = { TABLE = "data/${var.table}.csv", MONTH = var.month, OUT = local.directory, LC_ALL = "C" }
  }

  phase "table" {
    workstream "copy" {
      inputs    = ["data/${var.table}.csv"]
      artifacts = ["${local.directory}/copy.csv"]
      script    = <<-EOT
        mkdir -p "$OUT"
        awk -F , -v month="$MONTH" 'substr($2, 1, 7) == month' "$TABLE" > "$OUT/copy.csv"
      EOT
    }

    workstream "update" {
      depends_on = [workstream.copy]
      artifacts  = ["${local.directory}/table.csv"]
      script     = <<-EOT
        awk '{ gsub(/ /, ""); print toupper($0) }' "$OUT/copy.csv" > "$OUT/table.csv"
        sort -o "$OUT/table.csv" "$OUT/table.csv"
      EOT
    }

    workstream "validate" {
      depends_on = [workstream.update]
      script     = <<-EOT
        awk -F , '
          FNR == NR { if (FNR == 1) fields = NF; next }
          NF != fields { print "row " $1 " has " NF " fields, not " fields; bad = 1 }
          seen[$1]++ { print "row " $1 " is there twice"; bad = 1 }
          END { exit bad }' "$TABLE" "$OUT/table.csv"
        awk 'END { print "rows=" NR }' "$OUT/table.csv" >> "$RUNNER_OUTPUT"
      EOT
    }
  }
}
