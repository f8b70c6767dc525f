pipeline "mistaken" {
  outputs = {
    summary = "no output has this name"
    token   = var.token
    later   = workstream.none.outputs.x
  }
  phase "a" {
    workstream "w" { command = "not a list" }
  }
}
variable "token" {
  default   = "sensitive"
  sensitive = true
}
