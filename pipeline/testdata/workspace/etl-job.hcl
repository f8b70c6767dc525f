variable "table" { type = string }
variable "days" { type = number }

pipeline "PRD-020" {
  outputs = { rows = workstream.load.outputs.rows }

  phase "main" {
    workstream "extract" {
      script = "./extract.sh ${var.table} ${var.days}"
      inputs = ["extract/**"]
    }
    workstream "load" {
      depends_on = [workstream.extract]
      script     = "./load.sh > orders.csv; echo rows=$(wc -l < orders.csv) >> $RUNNER_OUTPUT"
      artifacts  = ["orders.csv"]
    }
  }
}
