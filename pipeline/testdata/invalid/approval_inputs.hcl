# Must give, by line:
# 16: Invalid type of an input
# 17: Duplicate input
# 19: Incorrect value type
# 23: Default that is no option
# 27: Argument without effect
# 31: Invalid value for argument
# 34: Unsupported argument
pipeline "PRD-001" {
  phase "a" {
    workstream "x" { command = ["true"] }
    gate "ok" {
      approval {
        message = "ok?"
        input "feedback" {}
        input "list" { type = list(string) }
        input "feedback" { type = string }
        input "count" {
          default = [7]
        }
        input "color" {
          options = ["red", "green"]
          default = "gren"
        }
        input "sure" {
          type    = bool
          options = [true]
        }
        input "none" {
          type    = number
          options = []
        }
        input "value" {
          value = "x"
        }
      }
    }
  }
}
