# Three producers write to a server at the same time, then a consumer reads what it has. PRD-107.hcl calls
# this pipeline. The server is a service: Runner starts it, waits until it answers, and stops it in the
# end. It keeps its data in a file, so that a build that was killed in the middle can go on.

locals {
  points = "out/bin/points"
}

pipeline "PRD-127" {
  title = "The server, its producers and a consumer"

  service "server" {
    command = [local.points, "serve", "127.0.0.1:${service.server.port}", "data/points.txt"]
    ready { http = "http://127.0.0.1:${service.server.port}/ping" }
  }

  phase "e2e" {
    workstream "create" { command = [local.points, "create", "http://127.0.0.1:${service.server.port}"] }

    workstream "producer" {
      for_each   = fileset("points", "*.csv")
      depends_on = [workstream.create]
      inputs     = ["points/${each.key}"]
      command    = [local.points, "write", "http://127.0.0.1:${service.server.port}", "points/${each.key}"]
    }

    workstream "consumer" {
      depends_on = [workstream.producer]
      artifacts  = ["out/cpu.csv"]
      script     = "${local.points} query http://127.0.0.1:${service.server.port} cpu > out/cpu.csv"

      # The hosts whose points were sent have each sent at least one about the cpu.
      gate "hosts" {
        condition     = length(split("\n", chomp(file("out/cpu.csv")))) == length(fileset("points", "*.csv"))
        error_message = "Not every producer has arrived:\n${file("out/cpu.csv")}"
      }
    }
  }
}
