pipeline "sensitive-outputs" {
  phase "a" {
    workstream "w" {
      command           = ["./login"]
      sensitive_outputs = ["token"]
    }
  }
}
