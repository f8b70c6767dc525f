# Must give, by line:
# 38: Invalid outputs
# 42: Missing required argument
# 46: Invalid call
# 47: Invalid call
# 51: Path outside the workspace
# 54: Cannot read called file
# 61: Argument beside a call
# 62: Argument beside a call
# 64: Argument beside a call
# 67: Called file is an artifact
# 67: Missing value for variable
# 71: Called file is an artifact
# 72: Missing value for variable
# 73: Value for undeclared variable
# 74: Incorrect value type
# 75: Incorrect value type
# 76: Sensitive value not allowed
# 82: Called file is an artifact
# 83: Incorrect value type
# 88: Called file is an artifact
# 89: Unknown variable
# 93: Call that must happen only once
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
