# Must give, by line:
# 35: Reference not allowed
# 38: Unknown variable
# 38: Unknown local
# 38: Reference outside for_each
# 38: Unknown reference
# 38: Unknown reference
# 38: Unknown reference
# 39: Invalid gate reference
# 39: Unknown gate
# 40: Value not known yet
# 41: Sensitive value not allowed
# 42: Unknown workstream
# 42: Result of a workstream that does not run earlier
# 46: Unknown reference
# 46: Invalid reference
# 46: Invalid reference
# 46: Invalid reference
# 46: Call to unknown function
# 49: Result of a workstream that does not run earlier
# 50: Command and script
# 50: Invalid reference
# 53: Shell without script
# 54: Result of a workstream that does not run earlier
# 55: Result of a workstream that does not run earlier
# 59: Result of a workstream that does not run earlier
variable "region" { default = "eu" }
variable "token" {
  sensitive = true
  default   = "secret-token"
}
locals { names = ["x"] }
gate "lint" { command = ["true"] }
pipeline "PRD-001" {
  title = pipeline.id
  phase "a" {
    workstream "WS1" {
      command = ["echo", var.regoin, local.name, each.key, pipeline.titel, run.sesion, metrics.x]
      gates   = [gate.lnt, gate.lint, "lint"]
      timeout = workstream.WS1.outputs.t
      title   = var.token
      env     = { A = workstream.WS1.outputs.x, B = workstream.WS9.outputs.x }
    }
    workstream "WS2" {
      depends_on = [workstream.WS1]
      command    = ["echo", workstream.WS1.output.x, workstream.WS1["a"].outputs.x, workstream["WS1"], gate.lint, uper("x")]
    }
    workstream "WS3" {
      command = ["echo", workstream.WS1.outputs.x]
      script  = var
    }
    workstream "WS4" {
      shell   = ["bash"]
      command = ["echo", workstream.late.outputs.x]
      when    = workstream.WS1.outputs.x == "1"
    }
  }
  phase "b" {
    when = workstream.late.outputs.x == "1"
    workstream "late" { command = ["true"] }
  }
}
