# Must give, by line:
# 12: Missing issue block
# 13: Missing issue block
gate "short" {
  command = ["test", "-s", "notes.md"]
}
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      agent = agent.coder
      gates = [gate.short]
      task  = "Solve ${issue.title}."
      when  = contains(issue.labels, "ready")
    }
  }
  agent "coder" { command = ["./code.sh"] }
}
