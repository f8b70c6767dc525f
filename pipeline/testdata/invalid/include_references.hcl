# Must give, by line:
# 3: Invalid include
include = ["${local.dir}/*.hcl"]
locals { dir = "common" }
pipeline "PRD-001" {
  phase "a" {
    workstream "w" { command = ["true"] }
  }
}
