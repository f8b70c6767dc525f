# Must give, by line:
# 7: Review without findings
# 8: Invalid number
# 9: Unknown severity
# 11: Duplicate review block
pipeline "PRD-001" {
  review {
    max_attempts = 3
    do_not_ship  = ["p0", "p7"]
  }
  review { findings = "a.json" }
  phase "a" {
    workstream "b" { command = ["true"] }
  }
}
