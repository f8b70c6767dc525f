variable "path" { type = string }
pipeline "to" {
  phase "main" {
    workstream "write" {
      script    = "date > ${var.path}"
      artifacts = [var.path]
    }
  }
}
