pipeline "one" {
  phase "a" {
    workstream "w" {
      call { file = "called/two.hcl" }
    }
  }
}
