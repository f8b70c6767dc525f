# Must give, by line:
# 6: Invalid for_each
pipeline "PRD-001" {
  phase "a" {
    workstream "objects" {
      for_each = toset([{}, {}])
      command  = ["true"]
    }
  }
}
