# The rows of one month from a table of data/, cleaned and checked. PRD-106.hcl calls this pipeline for
# each table. By itself:
#
#   runner -C examples/workflows/dagu build -f table.hcl --var table=orders --var month=2026-09

variable "table" { type = string }
variable "month" { type = string }

pipeline "PRD-116" {
  title   = "The rows of ${var.table} in ${var.month}"
  outputs = { rows = workstream.validate.outputs.rows }

  defaults {
    env = { TABLE = "data/${var.table}.csv", MONTH = var.month, OUT = "out/${var.table}" }
  }

  phase "table" {
    workstream "copy" {
      inputs    = ["data/${var.table}.csv"]
      artifacts = ["out/${var.table}/copy.csv"]
      script    = <<-EOT
        mkdir -p "$OUT"
        awk -F , -v month="$MONTH" 'substr($2, 1, 7) == month' "$TABLE" > "$OUT/copy.csv"
      EOT
    }

    workstream "update" {
      depends_on = [workstream.copy]
      artifacts  = ["out/${var.table}/table.csv"]
      script     = "awk '{ gsub(/ /, \"\"); print toupper($0) }' \"$OUT/copy.csv\" > \"$OUT/table.csv\""
    }

    workstream "validate" {
      depends_on = [workstream.update]
      inputs     = ["validate.awk"]
      script     = "awk -F , -f validate.awk \"$TABLE\" \"$OUT/table.csv\" >> \"$RUNNER_OUTPUT\""
    }
  }
}
