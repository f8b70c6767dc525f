# A message in a chat for everything that happens to the session. The hook gets the address
# of the webhook in a sensitive variable, so that it is in no log and no checkpoint, and is
# tried again if the chat does not answer.
#
#   export PRDRUNNER_VAR_chat_webhook=https://chat.example.com/hooks/…
#   runner -C examples/notify build PRD-010            stops, and posts what is to be approved
#   runner -C examples/notify approve PRD-010
#   runner -C examples/notify build PRD-010 --resume   posts that the prices are published
#
# It needs curl and jq.

variable "chat_webhook" {
  type        = string
  sensitive   = true
  description = "the address of an incoming webhook, which takes {\"text\": \"…\"}"
}

pipeline "PRD-010" {
  title = "Price list"

  hook {
    on      = ["complete", "failed", "interrupted", "paused"]
    command = ["sh", "chat.sh"]
    env     = { CHAT_WEBHOOK = var.chat_webhook }
    timeout = "30s"
    retry {
      attempts         = 4
      initial_interval = "500ms"
    }
  }

  phase "draft" {
    workstream "list" {
      inputs    = ["prices/*.txt"]
      artifacts = ["out/prices.txt"]
      script    = "mkdir -p out && sort prices/*.txt > out/prices.txt"
    }

    gate "sign-off" {
      approval {
        message = "Publish the prices in out/prices.txt?"
      }
    }
  }

  phase "release" {
    workstream "publish" {
      depends_on = [workstream.list]
      artifacts  = ["out/published.txt"]
      script     = "cp out/prices.txt out/published.txt"
    }
  }
}
