# Instances of a block that depend on each other.
variable "extra" { default = ["c"] }

pipeline "PRD-001" {
  phase "build" {
    workstream "setup" { command = ["true"] }

    workstream "package" {
      for_each = {
        a = { needs = [] }
        b = { needs = ["a"] }
        c = { needs = ["b", "a"] }
      }
      depends_on = concat([workstream.setup], [for name in each.value.needs : workstream.package[name]])
      command    = ["build", each.key]
      artifacts  = ["out"]
    }

    workstream "chain" {
      for_each   = { first = "first", second = "first" }
      depends_on = [for name in [each.value] : workstream.chain[name] if name != each.key]
      command    = ["build", each.key]
    }

    workstream "test" {
      depends_on = [for name in var.extra : workstream.package[name]]
      command    = ["test"]
    }
  }
}
