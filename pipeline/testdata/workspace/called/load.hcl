variable "table" { type = string }
variable "days" {
  type    = number
  default = 7
}
variable "password" {
  type      = string
  default   = "none-given"
  sensitive = true
}
variable "regions" {
  type    = list(string)
  default = []
}
variable "anything" { default = "x" }
pipeline "load" {
  outputs = { rows = workstream.load.outputs.rows }

  phase "main" {
    workstream "load" {
      command = ["./load", var.table, "${var.days}"]
      env     = { PASSWORD = var.password }
    }
  }
}
