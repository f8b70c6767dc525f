# Must give, by line:
# 42: Invalid outputs
# 46: Missing required argument
# 50: Invalid call
# 51: Invalid call
# 55: Path outside the workspace
# 58: Cannot read called file
# 65: Not allowed with a call
# 66: Not allowed with a call
# 68: Not allowed with a call
# 69: Not allowed with a call
# 69: Isolation of a protected workstream
# 72: Called file is an artifact
# 72: Missing value for variable
# 76: Called file is an artifact
# 77: Missing value for variable
# 78: Value for undeclared variable
# 79: Incorrect value type
# 80: Incorrect value type
# 81: Sensitive value not allowed
# 87: Called file is an artifact
# 88: Incorrect value type
# 93: Called file is an artifact
# 94: Unknown variable
# 98: Call that must happen only once
# 102: Secrets of a called pipeline
# 105: Secrets of a called pipeline
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
        vars = { table = "t", days = ["a"] }
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
    workstream "secret" {
      call { file = "called/secret.hcl" }
    }
    workstream "sensitive-outputs" {
      call { file = "called/sensitive_outputs.hcl" }
    }
    workstream "mistaken" {
      call { file = "called/mistaken.hcl" }
    }
  }
}
