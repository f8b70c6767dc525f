# Must give, by line:
# 31: Unsupported block type
# 38: Mutation without protection
# 43: Pure workstream that mutates
# 45: Empty protection
# 50: Empty protection
# 60: Protection of a once workstream
# 67: Protection of a once workstream
# 73: Judgement after a rollback
# 79: Path outside the workspace
# 79: Invalid glob
# 79: Path that no glob sees
# 80: Invalid state key
# 80: Invalid state key
# 81: Invalid duration
# 82: Invalid value for argument
# 83: Incorrect value type
# 84: Unsupported argument
# 89: Duplicate protect block
# 94: Sensitive value not allowed
# 95: Value not known yet
# 96: Invalid duration
# 102: Incorrect value type
variable "secret" {
  sensitive = true
  default   = "not-a-secret"
}
pipeline "PRD-001" {
  defaults {
    # Each workstream says itself what it changes.
    protect {
      scope = ["**"]
    }
  }
  phase "one" {
    workstream "bare" {
      command = ["a"]
      mutates = true
    }
    workstream "pure" {
      command = ["a"]
      effect  = "pure"
      mutates = true

      protect {}
    }
    workstream "nothing" {
      for_each = toset(["x"])
      command  = ["a"]
      protect {
        scope      = setsubtract([each.key], ["x"])
        savepoints = []
        state      = null
      }
    }
    workstream "once" {
      command = ["a"]
      effect  = "once"
      mutates = true
      protect {
        scope = ["once/**"]
      }
    }
    workstream "once_mutates" {
      command = ["a"]
      effect  = "once"
      mutates = true
    }
    workstream "judged" {
      command         = ["a"]
      artifacts       = ["judged/a"]
      # After a rollback there is no artifact.
      on_gate_failure = "judge"
      protect { scope = ["judged"] }
    }
    workstream "values" {
      command = ["a"]
      protect {
        scope        = ["/etc/hosts", "a/**.sql", ".git"]
        state        = ["", "a\tb"]
        expiry       = "7 days"
        on_failure   = "roll_back"
        strict_scope = "sometimes"
        timeout      = "1m"
      }
    }
    workstream "twice" {
      protect { scope = ["twice/a"] }
      protect { scope = ["twice/b"] }
      command = ["a"]
    }
    workstream "sources" {
      protect {
        scope  = ["sources", var.secret]
        state  = [workstream.bare.outputs.key]
        expiry = "0s"
      }
      command = ["a"]
    }
    workstream "text" {
      command = ["a"]
      protect { scope = "text" }
    }
  }
}
