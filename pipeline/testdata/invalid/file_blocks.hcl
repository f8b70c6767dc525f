# Must give, by line:
# 1: Missing pipeline block
# 10: Missing value for variable
# 11: Duplicate variable
# 13: Duplicate local
# 15: Duplicate gate
# 16: Unsupported block type
# 17: Invalid name
# 18: Unsupported argument
variable "a" {}
variable "a" { default = 1 }
locals { x = 1 }
locals { x = 2 }
gate "g" { command = ["true"] }
gate "g" { command = ["true"] }
provider "x" {}
gate "1st" { command = ["true"] }
agent = "x"
