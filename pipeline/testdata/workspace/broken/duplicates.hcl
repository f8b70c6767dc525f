variable "name" { default = "b" }
locals { label = "b" }
gate "lint" { command = ["true"] }
agent "writer" { command = ["true"] }
