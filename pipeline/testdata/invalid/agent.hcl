# Must give, by line:
# 11: Unused agent
# 12: Reference outside for_each
# 14: Duplicate agent name
# 17: Command and script
# 21: Unknown agent
# 25: Invalid agent reference
# 29: Invalid reference
# 31: Missing command
pipeline "PRD-001" {
  agent "architect" {
    command = ["claude", "-p", each.key]
  }
  agent "architect" {}
  agent "tester" {
    command = ["a"]
    script  = "b"
  }
  phase "a" {
    workstream "b" {
      agent = agent.achitect
    }
    workstream "c" {
      command = ["true"]
      agent   = "architect"
    }
    workstream "d" {
      agent   = agent.tester
      command = ["echo", agent.tester]
    }
    workstream "e" {
      agent = agent.empty
    }
  }
  agent "empty" { role = "nothing" }
}
