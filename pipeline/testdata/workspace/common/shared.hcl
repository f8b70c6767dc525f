locals {
  registry = "registry.example.com/team"
}

agent "reviewer" {
  command = ["claude", "-p", local.registry]
}
