pipeline "two" {
  phase "a" {
    workstream "w" {
      call { file = "called/one.hcl" }
    }
  }
}
