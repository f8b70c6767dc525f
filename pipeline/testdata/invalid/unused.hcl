# A service that only another unused one needs, and itself, is unused.
# 9: Unused service
# 10: Unused service
# 12: Unused secret
gate "smoke" {
  command = ["curl", "http://localhost:${service.app.port}", secret.password]
}
pipeline "PRD-001" {
  service "idle" { command = ["idle", service.idle.port] }
  service "idler" { command = ["idler", service.idle.port] }
  secret "token" { env = "TOKEN" }
  secret "orphan" { env = "ORPHAN" }
  secret "password" { env = "PASSWORD" }
  service "db" {
    command = ["db", service.db.port]
    env     = { TOKEN = secret.token }
  }
  service "app" { command = ["app", service.app.port, service.db.port] }

  phase "one" {
    workstream "none" {
      for_each = toset([])
      command  = ["none", each.key]
      gates    = [gate.smoke]
    }
    workstream "some" { command = ["some"] }
  }
}
