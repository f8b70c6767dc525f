pipeline "secret" {
  secret "token" { env = "TOKEN" }

  phase "a" {
    workstream "w" {
      command = ["./push"]
      env     = { TOKEN = secret.token }
    }
  }
}
