# Must give, by line:
# 19: Unknown reference
# 20: Unclear readiness
# 26: Unknown service
# 28: Unclear readiness
# 31: Duplicate service name
# 34: Missing command
# 39: Unclear readiness
# 46: Service not certain
# 51: Unknown service
# 55: Invalid service reference
# 59: Invalid reference
# 64: Argument without effect
# 69: Service not certain
# 73: Invalid value for argument
# 80: Service that ends too early
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
  service "brief" {
    scope   = "phase"
    command = ["brief"]
  }
  service "lasting" {
    command = ["lasting", service.brief.port]
  }
}
