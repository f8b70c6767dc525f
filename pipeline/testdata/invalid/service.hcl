# Must give, by line:
# 18: Unknown reference
# 19: Unclear readiness
# 25: Unknown service
# 27: Unclear readiness
# 30: Duplicate service name
# 33: Missing command
# 38: Unclear readiness
# 45: Service not certain
# 50: Unknown service
# 54: Invalid service reference
# 58: Invalid reference
# 63: Argument without effect
# 68: Service not certain
# 72: Invalid value for argument
pipeline "PRD-001" {
  service "db" {
    command = ["postgres", service.db.host]
    ready {
      tcp  = true
      http = "http://localhost"
    }
  }
  service "app" {
    command = ["app", service.later.port]
    ready {
      tcp = false
    }
  }
  service "db" {
    command = ["again"]
  }
  service "nothing" {
  }
  service "later" {
    command = ["later"]
    # nothing says when it is ready
    ready {
      timeout = "1s"
    }
  }
  phase "one" {
    workstream "a" {
      command = ["true"]
      when    = service.db.port > 0
    }
    workstream "b" {
      command  = ["true"]
      # the name of a service that does not exist
      services = [service.bd]
    }
    workstream "c" {
      command  = ["true"]
      services = ["db"]
    }
    workstream "d" {
      command = ["true"]
      env     = { DB = service }
    }
    gate "e" {
      condition     = true
      error_message = "no"
      services      = [service.db]
    }
    workstream "f" {
      command = ["true"]
      # a file name must be known before
      inputs  = ["${service.db.port}"]
    }
  }
  service "last" {
    scope   = "session"
    command = ["last"]
  }
}
