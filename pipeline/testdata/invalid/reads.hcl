# 12: Artifact read before it is made
# 16: Artifact read before it is made
# 22: Artifact read before it is made
# 25: Artifact read before it is made
# 29: Artifact read before it is made
# 35: Artifact read before it is made
# 40: Artifact read before it is made
# 45: Artifact read before it is made

locals {
  # It has the content of before the run.
  coverage = fileexists("out/coverage.txt")
}

pipeline "PRD-001" {
  title = join(",", fileset("out", "*.txt"))

  phase "first" {
    workstream "early" {
      command = ["true"]
      # A workstream of a later phase makes it.
      when = !fileexists("late.txt")
      gate "waits-for-no-one" {
        # Neither waits for the other.
        condition     = !fileexists("out/coverage.txt")
        error_message = "below"
      }
    }
    workstream "beside" { script = try(file("out/coverage.txt"), "true") }
    workstream "test" {
      command   = ["true"]
      artifacts = ["out/*.txt"]
    }
    workstream "own" {
      command   = ["echo", filesha256("own.txt")]
      artifacts = ["own.txt"]
    }
    workstream "waits" {
      depends_on = [workstream.test]
      command    = ["echo", file("out/coverage.txt"), filebase64("late.txt")]
    }
  }
  phase "last" {
    workstream "late" {
      for_each  = fileset(".", "*.txt")
      command   = ["echo", file("out/coverage.txt")]
      artifacts = ["late.txt"]
      gate "own" {
        condition     = file("late.txt") == file("own.txt")
        error_message = "below"
      }
    }
  }
}
