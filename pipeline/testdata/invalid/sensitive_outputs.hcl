# 10: Invalid output name
# 14: Sensitive output of a once workstream
# 19: Cache of sensitive outputs
# 25: Sensitive output not allowed
# 29: Sensitive output not allowed
# 35: Sensitive output not allowed
pipeline "PRD-001" {
  phase "one" {
    workstream "names" {
      sensitive_outputs = ["token", "9th"]
      command           = ["a"]
    }
    workstream "once" {
      sensitive_outputs = ["token"]
      effect            = "once"
      command           = ["a"]
    }
    workstream "cached" {
      sensitive_outputs = ["token"]
      effect            = "pure"
      cache             = true
      command           = ["a"]
    }
    workstream "uses" {
      when       = workstream.names.outputs.token != ""
      command    = [try(workstream.names.outputs.token, ""), workstream.names.outputs.user]
      depends_on = [workstream.names]
      gate "g" {
        condition     = workstream.names.outputs.token != ""
        error_message = "no"
      }
    }
  }
  phase "two" {
    when = length(workstream.names.outputs) > 0
    workstream "b" { command = ["b"] }
  }
}
