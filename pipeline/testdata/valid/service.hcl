# Services, and what needs them.
variable "password" {
  type      = string
  sensitive = true
  default   = "correct-horse"
}

gate "smoke" {
  command = ["curl", "-f", "http://localhost:${service.app.port}/"]
}

pipeline "PRD-001" {
  service "db" {
    command = ["postgres", "-p", service.db.port]
    env     = { PASSWORD = var.password }
    ready {
      tcp      = true
      interval = "50ms"
      timeout  = "10s"
    }
    stop = ["pg_ctl", "stop"]
    restart { attempts = 3 }
  }
  service "app" {
    script = "exec ./app --port ${service.app.port} --db ${service.db.port}"
    scope  = "phase"
    ready { http = "http://localhost:${service.app.port}/health" }
  }
  service "queue" {
    command = ["queue"]
    ready { log = "ready to accept" }
  }
  service "mail" {
    command = ["mail"]
    ready { command = ["mail-check"] }
  }

  phase "test" {
    workstream "api" {
      command = ["go", "test", "./api"]
      env     = { DB = service.db.port }
      gates   = [gate.smoke]
    }
    workstream "jobs" {
      command  = ["go", "test", "./jobs"]
      services = [service.queue, service.mail]
    }
    gate "all" {
      command  = ["./check.sh"]
      services = [service.db]
    }
  }
}
