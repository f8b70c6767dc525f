variable "registry_token" {
  type      = string
  sensitive = true
  default   = "not-a-real-token"
}

locals {
  common = { CI = true, LANG = "C.UTF-8" }
}

pipeline "PRD-010" {
  title = "Defaults of the pipeline and of phases"

  defaults {
    env_file = fileexists(".env.local") ? [".env", ".env.local"] : [".env"]
    env      = merge(local.common, { TITLE = pipeline.title, SESSION = run.session })
    shell    = ["bash", "-euo", "pipefail", "-c"]
    timeout  = "15m"
    effect   = "pure"
    retry {
      attempts = 3
      jitter   = 0
    }
  }

  agent "implementer" {
    command = ["./implement.sh"]
    env     = { MODE = "agent" }
  }

  phase "build" {
    workstream "app" {
      script = "make app"
      gate "tested" { script = "make test" }
    }
    workstream "docs" {
      agent = agent.implementer
      task  = "Write the manual."
    }
  }

  phase "release" {
    defaults {
      env    = { MODE = "careful", TOKEN = var.registry_token, CI = null }
      dir    = "dist"
      effect = "idempotent"
      retry { attempts = 1 }
    }

    workstream "archive" { script = "tar -czf app.tar.gz app" }
    workstream "publish" {
      command  = ["./publish.sh"]
      env_file = ".env.${pipeline.id}"
      env      = { MODE = null }
      dir      = "."
      effect   = "once"
      verify   = ["./is-published.sh"]
    }

    gate "smoke" { script = "./smoke.sh" }
  }
}
