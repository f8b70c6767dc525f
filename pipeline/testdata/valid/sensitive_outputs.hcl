pipeline "PRD-012" {
  hook {
    on      = ["complete"]
    command = ["./tell.sh"]
    env     = { TOKEN = workstream.login.outputs.token }
  }

  phase "deploy" {
    workstream "login" {
      sensitive_outputs = ["token"]
      effect            = "pure"
      script            = "echo \"token=$(vault token create -field=token)\" >> $RUNNER_OUTPUT"

      gate "fresh" {
        script = "vault token lookup \"$TOKEN\""
        env    = { TOKEN = workstream.login.outputs.token }
      }
    }
    workstream "push" {
      for_each   = toset(["api", "web"])
      depends_on = [workstream.login]
      command    = ["./push.sh", each.key]
      env        = { TOKEN = workstream.login.outputs.token }
    }

    gate "reachable" {
      command = ["./smoke.sh", workstream.login.outputs.token]
    }
  }
}
