# Must give, by line:
# 16: Approval in an isolated workstream
# 24: Unsupported block type
# 29: Isolation of a once workstream
# 34: Isolation of a protected workstream
# 40: Isolation of a protected workstream
# 45: Judgement without a work tree
# 51: Approval in an isolated workstream
# 58: Invalid value for argument
# 59: Path outside the workspace
# 59: Invalid glob
# 60: Exclusion without effect
# 61: Unsupported argument
# 67: Duplicate isolate block
# 72: Value not known yet
gate "shared" {
  approval { message = "Is it right?" }
}

pipeline "PRD-001" {
  phase "one" {
    defaults {
      # Each workstream says itself where it runs.
      isolate {}
    }
    workstream "once" {
      command = ["a"]
      effect  = "once"
      isolate {}
    }
    workstream "protected" {
      command = ["a"]
      protect { scope = ["a"] }
      isolate {}
    }
    workstream "mutates" {
      command = ["a"]
      mutates = true
      protect { scope = ["b"] }
      isolate {}
    }
    workstream "judged" {
      command = ["a"]
      isolate {}
      on_gate_failure = "judge"
    }
    workstream "asked" {
      command = ["a"]
      gates   = [gate.shared]
      isolate {}
      gate "own" {
        approval { message = "Is it?" }
      }
    }
    workstream "values" {
      command = ["a"]
      isolate {
        from    = "tar"
        include = ["/etc/hosts", "a/**.sql"]
        exclude = ["!a"]
        timeout = "1m"
      }
    }
    workstream "twice" {
      command = ["a"]
      isolate {}
      isolate {}
    }
    workstream "later" {
      command = ["a"]
      isolate {
        include = [workstream.once.outputs.dir]
      }
    }
  }
}
