variable "vault" {
  default = "team"
}

pipeline "PRD-011" {
  secret "deploy_token" {
    command = ["pass", "show", "${var.vault}/deploy"]
    timeout = "30s"
  }
  secret "registry" { script = "vault kv get -field=password ${var.vault}/registry" }
  secret "ci" { env = "CI_JOB_TOKEN" }
  secret "database" { file = "/run/secrets/database" }

  defaults {
    env   = { CI_TOKEN = secret.ci }
    shell = ["bash", "-euc"]
  }
  agent "implementer" {
    command = ["claude", "-p"]
    env     = { TOKEN = "Bearer ${secret.registry}" }
  }
  hook {
    on      = ["failed"]
    command = ["./notify.sh"]
    env     = { TOKEN = secret.ci }
  }
  review {
    command = ["./review.sh"]
    env     = { TOKEN = secret.ci }
  }

  phase "deploy" {
    workstream "push" {
      for_each = toset(["a", "b"])
      command  = ["./push.sh", each.key]
      env      = { TOKEN = secret.deploy_token, USER = jsondecode(secret.database).user }
      effect   = "once"
      verify   = ["./is-pushed.sh", secret.deploy_token]

      gate "reachable" {
        script = "curl -fH \"Authorization: $TOKEN\" https://example.com"
        env    = { TOKEN = secret.deploy_token }
      }
    }
    workstream "notes" {
      agent = agent.implementer
      task  = "Write the notes. The token is ${secret.ci}."
    }
  }
}
