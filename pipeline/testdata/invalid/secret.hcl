# 26: Invalid secret
# 27: Invalid secret
# 33: Command and script
# 34: Unsupported argument
# 37: Duplicate secret name
# 38: Reference not allowed
# 39: Value not known yet
# 42: Reference not allowed
# 46: Reference not allowed
# 47: Unknown secret
# 48: Reference not allowed
# 49: Reference not allowed
# 50: Reference not allowed
# 51: Invalid reference
# 53: Reference not allowed
# 59: Incorrect value type
variable "v" {
  default = "a"
}
locals {
  fine = var.v
}
pipeline "PRD-001" {
  defaults { env = { TOKEN = secret.a } }

  secret "none" {}
  secret "two" {
    env  = "TOKEN"
    file = "/run/secrets/token"
  }
  secret "both" {
    command = ["a"]
    script  = "a"
    dir     = "x"
  }
  secret "a" { env = "A" }
  secret "a" { env = "B" }
  secret "recursive" { command = ["unseal", secret.a] }
  secret "late" { env = run.session }
  issue {
    command = ["gh"]
    env     = { T = secret.a }
  }
  phase "one" {
    workstream "x" {
      when     = secret.a != ""
      command  = ["x", secret.b]
      title    = secret.a
      inputs   = [secret.a]
      env_file = secret.a
      env      = { T = secret }
      gate "g" {
        condition     = secret.a == "x"
        error_message = "no"
      }
    }
    workstream "y" {
      command = ["y"]
      env     = secret.a
    }
  }
}
