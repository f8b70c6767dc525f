gate "agreed" {
  approval {
    message = "Agreed?"
    input "owner" {
      type        = string
      description = "who maintains it"
    }
  }
}

pipeline "PRD-009" {
  phase "draft" {
    workstream "text" {
      command = ["./write.sh"]
      gates   = [gate.agreed]

      gate "owned" {
        command = ["./check-owner.sh", gate.agreed.inputs.owner]
      }
    }

    workstream "index" {
      depends_on = [workstream.text]
      command    = ["./index.sh", gate.agreed.inputs.owner]
    }

    gate "direction" {
      approval {
        message = "Which direction?"
        input "style" {
          options = ["short", "long"]
          default = "short"
        }
        input "pages" {
          type    = number
          default = 2 + 1
        }
        input "public" { type = bool }
        input "feedback" {}
      }
    }

    gate "sized" {
      condition     = gate.direction.inputs.pages < 10 || gate.direction.inputs.style == "long"
      error_message = "Ask for fewer pages."
    }
  }

  phase "revise" {
    when = gate.direction.inputs.public

    workstream "revision" {
      for_each = toset(["de", "en"])
      script   = "./revise.sh ${each.key} ${gate.direction.inputs.pages + 1}"
      env = {
        FEEDBACK = gate.direction.inputs.feedback
        STYLE    = try(gate.direction.inputs.style, "short")
        ALL      = jsonencode(gate.direction.inputs)
      }
    }
  }

  hook {
    on      = ["complete"]
    command = ["./tell.sh", gate.agreed.inputs.owner]
  }
}
