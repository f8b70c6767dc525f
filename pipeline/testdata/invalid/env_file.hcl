# 11: Value not known yet
# 14: Incorrect value type
# 19: Sensitive value not allowed
# 23: Incorrect value type
# 25: Argument without effect
variable "secret_path" {
  default   = "secret.env"
  sensitive = true
}
pipeline "PRD-001" {
  defaults { env_file = "${run.session}.env" }
  agent "a" {
    command  = ["a"]
    env_file = "../.env"
  }
  phase "one" {
    workstream "x" {
      command  = ["x"]
      env_file = [var.secret_path]
    }
    workstream "y" {
      agent    = agent.a
      env_file = { a = 1 }
      gate "g" {
        env_file = ".env"
        approval { message = "Go on?" }
      }
    }
  }
}
