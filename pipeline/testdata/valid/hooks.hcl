variable "chat" {
  type      = string
  sensitive = true
  default   = "https://chat.example.com/hook/1"
}

locals {
  ends = ["complete", "failed"]
}

pipeline "PRD-001" {
  defaults {
    timeout = "1h"
    retry { attempts = 9 }
  }

  # For every end of a run, with a constant list and all arguments of a process.
  hook {
    on      = concat(local.ends, ["paused", "interrupted"])
    script  = "./chat.sh"
    shell   = ["bash", "-euc"]
    dir     = "tools"
    env     = { CHAT = var.chat }
    timeout = "10s"
    retry {
      attempts         = 5
      initial_interval = "2s"
      max_interval     = "1m"
      on_exit_codes    = [7, 22]
    }
  }

  # Another one for the same event, which has the results of a session that is complete.
  hook {
    on      = ["complete"]
    command = ["./publish.sh", workstream.notes.outputs.title, "${metric.words}"]
  }

  phase "draft" {
    workstream "notes" {
      script = "./notes.sh"
    }
  }
}
