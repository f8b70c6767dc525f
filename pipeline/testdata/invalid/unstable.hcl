# What is read while a workstream beside it may write it.
# 13: Input written at the same time
# 27: Input written at the same time

pipeline "PRD-001" {
  phase "one" {
    workstream "generate" {
      command   = ["make"]
      artifacts = ["gen/**/*.go", "report.txt"]
    }
    workstream "test" {
      command = ["go", "test"]
      inputs  = ["**/*.go"]
    }
    workstream "build" {
      depends_on = [workstream.generate]
      command    = ["go", "build"]
      inputs     = ["**/*.go"]
    }
    workstream "document" {
      command   = ["doc"]
      inputs    = ["docs/**"]
      artifacts = ["docs/index.html"]

      gate "complete" {
        command = ["check"]
        inputs  = ["report.txt"]
      }
    }
  }
  phase "two" {
    workstream "bump" {
      command   = ["bump"]
      inputs    = ["gen/**/*.go"]
      artifacts = ["docs/version"]
    }
  }
}
