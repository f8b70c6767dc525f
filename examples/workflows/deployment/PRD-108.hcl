# A deployment: checks, a signed build, a canary with a tenth of the traffic, a person's yes, all servers,
# and a migration of the database. What a smoke test finds wrong is rolled back at once, and in the end all
# traffic goes to the primary servers again, however far the deployment came. A smoke test asks a server as
# often as it gets traffic, and compares the version. The directory production stands for the servers. In examples/workflows/deployment:
#
#   runner build PRD-108             deploys the canary, and stops for the approval
#   runner approve PRD-108
#   runner build PRD-108 --resume    deploys to all, and migrates
#   cat deployments.txt
#
# Delete production, and let migrations/0002_currency.awk forget the comma. The smoke test after the
# migration fails, and the database is as before. Correct the file and resume: you are asked again, since it
# is another migration, and then the deployment goes on where it was.
#
# Origin: how Sentry deploys https://github.com/getsentry/snuba (FSL-1.1-Apache-2.0),
# gocd/templates/pipelines/snuba-py.libsonnet with the scripts in gocd/templates/bash: checks, a canary, the
# primary servers, migrations that are reversed if they fail, health checks, secrets and releases. The
# approval, the signature and the share of the traffic are not from there.

variable "dangerous" {
  type        = bool
  default     = false
  description = "whether to apply migrations that say \"# dangerous\""
}

locals {
  version = chomp(file("VERSION"))
  release = "production/releases/${local.version}.txt"
}

pipeline "PRD-108" {
  title = "Deploy version ${local.version} of the shop"

  secret "signing_key" { command = ["cat", "vault/signing_key.txt"] }

  service "canary" {
    command = ["production/canary/shop", "serve", "127.0.0.1:${service.canary.port}", "production/data"]
    ready { http = "http://127.0.0.1:${service.canary.port}/alive" }
  }
  service "primary" {
    command = ["production/primary/shop", "serve", "127.0.0.1:${service.primary.port}", "production/data"]
    ready { http = "http://127.0.0.1:${service.primary.port}/alive" }
  }

  hook {
    on     = ["complete", "failed", "paused"]
    script = "echo \"${local.version}: $RUNNER_STATUS\" >> deployments.txt"
  }

  phase "checks" {
    workstream "tests" {
      inputs = ["go.mod", "**/*.go"]
      script = "go vet ./... && go test -trimpath ./..."
    }

    workstream "migrations" {
      when   = !var.dangerous
      inputs = ["migrations/*.awk"]
      script = "awk '/^# dangerous/ { print FILENAME \" is dangerous\"; bad = 1 } END { exit bad }' migrations/*.awk"
    }
  }

  phase "image" {
    workstream "build" {
      inputs    = ["go.mod", "**/*.go", "!**/*_test.go"]
      artifacts = ["out/shop", "out/sign"]
      command   = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-X main.version=${local.version}", "-o", "out/", "./cmd/..."]
    }

    workstream "signature" {
      depends_on = [workstream.build]
      artifacts  = ["out/shop.sig"]
      env        = { SIGNING_KEY = secret.signing_key }
      script     = "out/sign out/shop > out/shop.sig"
    }
  }

  phase "canary" {
    # Where there is no production yet, it is made.
    workstream "database" {
      script = <<-EOT
        if [ ! -d production/data ]; then
          mkdir -p production
          rm -rf production/new
          cp -R seed production/new
          mv production/new production/data
        fi
      EOT
    }

    workstream "announce" {
      depends_on = [workstream.signature]
      artifacts  = [local.release]
      script     = "mkdir -p production/releases && { echo canary; cat out/shop.sig; } > ${local.release}"
    }

    workstream "deploy-canary" {
      depends_on = [workstream.database, workstream.signature]
      artifacts  = ["production/canary/shop", "production/traffic.txt"]
      mutates    = true
      env        = { SIGNING_KEY = secret.signing_key }
      script     = <<-EOT
        out/sign out/shop out/shop.sig
        sh install.sh out/shop production/canary
        printf 'canary 10\nprimary 90\n' > production/traffic.txt
      EOT

      protect { scope = ["production/canary/**", "production/traffic.txt"] }
      gate "canary-smoke" {
        command  = ["out/shop", "check", "production/traffic.txt", "canary", "http://127.0.0.1:${service.canary.port}", local.version]
        env_file = "production.env"
      }
    }

    gate "go-ahead" {
      inputs = ["production/canary/shop", "migrations/*.awk"]
      approval { message = "The canary with version ${local.version} is well. Deploy it to all servers?" }
    }
  }

  phase "primary" {
    workstream "deploy-primary" {
      depends_on = [workstream.deploy-canary]
      artifacts  = ["production/primary/shop"]
      mutates    = true
      env        = { SIGNING_KEY = secret.signing_key }
      script     = <<-EOT
        out/sign out/shop out/shop.sig
        sh install.sh out/shop production/primary
      EOT

      protect { scope = ["production/primary/**"] }
      gate "primary-smoke" {
        command  = ["out/shop", "check", "production/traffic.txt", "primary", "http://127.0.0.1:${service.primary.port}", local.version]
        env_file = "production.env"
      }
    }

    # The servers can read the database as it was and as it will be.
    workstream "migrate" {
      depends_on = [workstream.deploy-primary]
      inputs     = ["migrations/*.awk", "migrate.sh"]
      mutates    = true
      script     = "sh migrate.sh production/data"

      protect { scope = ["production/data/**"] }
      gate "migrate-smoke" {
        command  = ["out/shop", "check", "production/traffic.txt", "primary", "http://127.0.0.1:${service.primary.port}", local.version]
        env_file = "production.env"
      }
    }

    workstream "finalize" {
      depends_on = [workstream.announce, workstream.migrate]
      artifacts  = [local.release]
      script     = "{ echo production; cat out/shop.sig; } > ${local.release}"
    }
  }

  phase "traffic" {
    run_on = "always"

    workstream "end-canary" {
      artifacts = ["production/traffic.txt"]
      script    = "mkdir -p production && echo 'primary 100' > production/traffic.txt"
    }
  }
}
