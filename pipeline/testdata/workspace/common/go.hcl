variable "race" {
  type    = bool
  default = false
}

agent "implementer" {
  command = ["claude", "-p"]
}

gate "vet" {
  command = ["go", "vet", "./..."]
}

gate "test" {
  command = ["go", "test", "-race=${var.race}", "./..."]
}
