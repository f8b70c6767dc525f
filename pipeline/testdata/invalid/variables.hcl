# Must give, by line:
# 14: Missing value for variable
# 17: Invalid default value for variable
# 19: Invalid type specification
# 19: Missing value for variable
# 20: Reference not allowed
# 21: Call to unknown function
# 22: Invalid value for variable
# 29: Invalid validation condition
# 33: Reference not allowed
# 37: Sensitive value too short
# 42: Incorrect value type
# 46: Cycle of locals
variable "missing" { type = string }
variable "typed" {
  type    = number
  default = "many"
}
variable "kind" { type = strin }
variable "constant" { default = var.typed }
variable "calls" { default = uper("x") }
variable "checked" {
  default = 5
  validation {
    condition     = var.checked > 10
    error_message = "must be above ten"
  }
  validation {
    condition     = null
    error_message = "never shown"
  }
  validation {
    condition     = local.x > 10
    error_message = "never shown"
  }
}
variable "short" {
  sensitive = true
  default   = "abc"
}
variable "unclear" {
  sensitive = "perhaps"
  default   = "abcdef"
}
locals {
  a = local.b
  b = local.c
  c = local.a
  x = 1
}
pipeline "PRD-001" {
  phase "a" {
    workstream "WS1" { command = ["true"] }
  }
}
