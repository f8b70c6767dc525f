include = ["common/*.hcl", "common/go.hcl"]

agent "writer" {
  command = ["claude", "-p", local.registry]
}

pipeline "PRD-001" {
  agent "tester" {
    command = ["claude", "-p", var.race ? "race" : ""]
  }

  phase "code" {
    workstream "api" {
      agent = agent.implementer
      task  = "Implement docs/api.md."
      gates = [gate.vet]
    }
    workstream "docs" {
      agent = agent.writer
      task  = "Describe the API."
    }
    workstream "tests" {
      agent = agent.tester
      task  = "Test the API."
    }
  }
}
