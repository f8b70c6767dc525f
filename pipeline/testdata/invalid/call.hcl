# Must give, by line:
# 40: Invalid outputs
# 44: Missing required argument
# 48: Invalid call
# 49: Invalid call
# 53: Path outside the workspace
# 56: Cannot read called file
# 63: Argument beside a call
# 64: Argument beside a call
# 66: Argument beside a call
# 67: Argument beside a call
# 67: Isolation of a protected workstream
# 70: Called file is an artifact
# 70: Missing value for variable
# 74: Called file is an artifact
# 75: Missing value for variable
# 76: Value for undeclared variable
# 77: Incorrect value type
# 78: Incorrect value type
# 79: Sensitive value not allowed
# 85: Called file is an artifact
# 86: Incorrect value type
# 91: Called file is an artifact
# 92: Unknown variable
# 96: Call that must happen only once
# called/mistaken.hcl 3: Invalid output name
# called/mistaken.hcl 4: Sensitive value not allowed
# called/mistaken.hcl 5: Unknown workstream
# called/mistaken.hcl 8: Incorrect value type
# called/two.hcl 4: Pipeline that calls itself
variable "secret" {
  default   = "sensitive"
  sensitive = true
}
locals {
  file = "called/load.hcl"
  vars = { table = "t" }
}
pipeline "PRD-001" {
  outputs = local.vars

  phase "a" {
    workstream "no-file" {
      call {}
    }
    workstream "evaluated" {
      call {
        file = local.file
        vars = local.vars
      }
    }
    workstream "outside" {
      call { file = "../load.hcl" }
    }
    workstream "none" {
      call { file = "called/none.hcl" }
    }
    workstream "made" {
      command   = ["true"]
      artifacts = ["called/load.hcl"]
    }
    workstream "beside" {
      command = ["true"]
      env     = { A = "b" }
      call { file = "called/one.hcl" }
      protect { scope = ["x"] }
      isolate {}
    }
    workstream "missing" {
      call { file = "called/load.hcl" }
    }
    workstream "values" {
      call {
        file = "called/load.hcl"
        vars = {
          tables   = "t"
          days     = "many"
          regions  = { a = "b" }
          anything = var.secret
        }
      }
    }
    workstream "array" {
      call {
        file = "called/load.hcl"
        vars = { table = "t", anything = ["a"] }
      }
    }
    workstream "untyped" {
      call {
        file = "called/load.hcl"
        vars = { table = "t", days = var.none }
      }
    }
    workstream "once" {
      effect = "once"
      call { file = "called/mistaken.hcl" }
    }
    workstream "mistaken" {
      call { file = "called/mistaken.hcl" }
    }
  }
}
