# Must give, by line:
# 7: Duplicate workstream name
pipeline "PRD-001" {
  phase "build" {
    # References still mean the workstream, so that they are no further mistakes.

    workstream "build" { command = ["true"] }
    workstream "test" {
      depends_on = [workstream.build]
      command    = ["true"]
    }
  }
}
