# Must give, by line:
# 3: Included file is an artifact
include = ["common/*.hcl"]
pipeline "PRD-001" {
  phase "a" {
    workstream "w" {
      command   = ["make"]
      artifacts = ["common/shared.hcl"]
    }
  }
}
