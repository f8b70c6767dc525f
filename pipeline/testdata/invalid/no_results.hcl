# Must give, by line:
# 6: Result not certain
# 9: Result not certain
pipeline "PRD-001" {
  review {
    command = ["review", workstream.spec.outputs.path]
  }
  agent "tester" {
    env     = { SPEC = workstream.spec.outputs.path }
    command = ["test"]
  }
  phase "a" {
    workstream "spec" { command = ["true"] }
    workstream "test" {
      agent      = agent.tester
      depends_on = [workstream.spec]
    }
  }
}
