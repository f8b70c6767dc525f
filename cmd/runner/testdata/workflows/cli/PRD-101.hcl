# A command-line library: checks, a matrix of tests, and what is released of it.
locals {
  matrix = { for pair in setproduct(["1.25", "1.26"], ["linux", "macos", "windows"]) : join("-", pair) => pair }
}

pipeline "PRD-101" {
  phase "check" {
    workstream "license" {
      inputs    = ["src/*.txt"]
      artifacts = ["out/license.txt"]
      script    = "mkdir -p out; grep -l '^// License' src/*.txt > out/license.txt"
    }
    workstream "lint" {
      inputs    = ["src/*.txt", "module.txt"]
      artifacts = ["out/lint.txt"]
      script    = "mkdir -p out; cat module.txt src/*.txt | wc -l > out/lint.txt"
    }
  }

  phase "tests" {
    workstream "test" {
      for_each  = local.matrix
      inputs    = ["src/*.txt", "module.txt"]
      artifacts = ["out/test/${each.key}.txt"]
      env       = { GO = each.value[0], SYSTEM = each.value[1], KEY = each.key }
      script    = <<-EOT
        mkdir -p out/test
        cat module.txt src/*.txt | sed "s/^/$GO $SYSTEM /" > "out/test/$KEY.txt"
        echo "metric.coverage=90" >> "$RUNNER_OUTPUT"
      EOT
    }
    gate "coverage" {
      metric = "coverage"
      min    = 80
    }
  }

  phase "release" {
    workstream "docs" {
      inputs    = ["src/help.txt"]
      artifacts = ["out/docs.txt"]
      script    = "tr a-z A-Z < src/help.txt > out/docs.txt"
    }
    workstream "archive" {
      depends_on = [workstream.docs]
      inputs     = ["src/*.txt", "out/test/*.txt"]
      artifacts  = ["out/archive.txt"]
      script     = "cat out/docs.txt src/*.txt out/test/*.txt > out/archive.txt"
    }
  }
}
