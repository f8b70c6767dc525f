variable "size" {
  type    = number
  default = "large"
}
locals { broken = local.missing }
gate "check" {
  comand = ["true"]
}
agent "writer" { command = ["true"] }
gate "reads" { command = ["cat", file("out/made")] }
