# Must give, by line:
# 30: Unknown gate
# 31: Invalid reference
# 32: Ambiguous gate
# 33: Ambiguous gate
# 34: Invalid reference
# 35: Unknown input
# 36: Invalid reference
# 41: Answer of a gate that is not judged earlier
# 54: Answer of a gate that is not judged earlier
# 57: Answer of a gate that is not judged earlier
# 69: Value not known yet
# 71: Answer of a gate that is not judged earlier
# 75: Answer of a gate that is not judged earlier
# 85: Answer of a gate that is not judged earlier
# 99: Result not certain
gate "shared" {
  approval {
    message = "ok?"
    input "why" {}
  }
}
pipeline "PRD-001" {
  phase "a" {
    workstream "names" {
      for_each = toset([])
      gates    = [gate.shared]
      command  = ["true"]
      env = {
        A = gate.singoff.inputs.why
        B = gate.lint.inputs.why
        C = gate.twice.inputs.why
        D = gate.shared.inputs.why
        E = gate.alone.outputs.why
        F = gate.alone.inputs.wy
        G = gate.alone
      }
    }
    workstream "alone" {
      command = ["true"]
      env     = { A = gate.alone.inputs.why }
      gate "alone" {
        approval {
          message = "ok?"
          input "why" {}
        }
      }
      gate "twice" {
        approval {
          message = "ok?"
          input "why" {}
        }
      }
      gate "lint" { command = ["echo", gate.late.inputs.why] }
    }
    workstream "beside" {
      command = ["echo", gate.alone.inputs.why]
    }
    gate "twice" {
      approval {
        message = "ok?"
        input "why" {}
      }
    }
  }
  phase "b" {
    workstream "constant" {
      command = ["true"]
      inputs  = [gate.alone.inputs.why]
    }
    workstream "phase" { command = ["echo", gate.late.inputs.why] }
    workstream "later" {
      command = ["true"]
      gate "first" {
        condition     = gate.second.inputs.why == "x"
        error_message = "no"
      }
      gate "second" {
        approval {
          message = "ok?"
          input "why" {}
        }
      }
    }
    gate "early" { command = ["echo", gate.late.inputs.why] }
    gate "late" {
      approval {
        message = "ok?"
        input "why" {}
      }
    }
    gate "after" {
      condition     = gate.late.inputs.why == "x" && gate.second.inputs.why == "x"
      error_message = "no"
    }
  }
  hook {
    on      = ["failed"]
    command = ["echo", gate.alone.inputs.why]
  }
}
