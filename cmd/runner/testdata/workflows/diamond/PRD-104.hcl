# A diamond with a step that fails at first, one that is skipped, and a report at the end.
variable "audit" {
  type    = bool
  default = false
}

pipeline "PRD-104" {
  defaults {
    retry {
      attempts         = 3
      initial_interval = "10ms"
    }
  }

  hook {
    on     = ["complete"]
    script = "echo complete > notified.txt"
  }

  phase "work" {
    workstream "extract" {
      inputs    = ["in/orders.txt"]
      artifacts = ["out/orders.txt"]
      script    = "mkdir -p out; sort in/orders.txt > out/orders.txt"
    }
    workstream "prices" {
      depends_on = [workstream.extract]
      inputs     = ["in/prices.txt"]
      artifacts  = ["out/prices.txt"]
      script     = <<-EOT
        [ "$RUNNER_ATTEMPT" != 1 ] || { echo "the network is down" >&2; exit 1; }
        cat out/orders.txt in/prices.txt > out/prices.txt
      EOT
    }
    workstream "rates" {
      depends_on = [workstream.extract]
      inputs     = ["in/rates.txt"]
      artifacts  = ["out/rates.txt"]
      script     = "cat out/orders.txt in/rates.txt > out/rates.txt"
    }
    workstream "audit" {
      when      = var.audit
      artifacts = ["out/audit.txt"]
      script    = "echo audited > out/audit.txt"
    }
    workstream "report" {
      depends_on = [workstream.prices, workstream.rates]
      artifacts  = ["out/report.txt"]
      script     = "cat out/prices.txt out/rates.txt > out/report.txt"
    }
  }
}
