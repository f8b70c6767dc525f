# A package in several formats, tested against what it is used with, and published once
# somebody has agreed.
pipeline "PRD-102" {
  phase "formats" {
    workstream "build" {
      for_each  = toset(["cjs", "esm", "system"])
      inputs    = ["src/*.txt"]
      artifacts = ["dist/${each.key}/*.txt"]
      env       = { FORMAT = each.key }
      script    = "mkdir -p \"dist/$FORMAT\"; for f in src/*.txt; do sed \"s/^/$FORMAT /\" \"$f\" > \"dist/$FORMAT/$(basename \"$f\")\"; done"
    }
    workstream "types" {
      inputs    = ["types.txt"]
      artifacts = ["dist/types.txt"]
      script    = "mkdir -p dist; cat types.txt > dist/types.txt"
    }
  }

  phase "tests" {
    workstream "test" {
      for_each  = toset(["18", "19"])
      inputs    = ["dist/esm/*.txt", "dist/types.txt"]
      artifacts = ["out/react-${each.key}.txt"]
      env       = { REACT = each.key }
      script    = "mkdir -p out; cat dist/esm/*.txt dist/types.txt > \"out/react-$REACT.txt\"; echo \"react $REACT\" >> \"out/react-$REACT.txt\""
    }
  }

  phase "size" {
    workstream "pack" {
      inputs    = ["dist/**", "package.txt"]
      artifacts = ["out/package.txt"]
      script    = "cat package.txt dist/types.txt dist/*/*.txt > out/package.txt; echo \"metric.lines=$(wc -l < out/package.txt)\" >> \"$RUNNER_OUTPUT\""

      gate "small" {
        metric = "lines"
        max    = 100
      }
    }
    gate "publish" {
      inputs = ["out/package.txt"]
      approval { message = "Publish out/package.txt?" }
    }
  }

  phase "release" {
    workstream "publish" {
      inputs    = ["out/package.txt"]
      artifacts = ["published/package.txt"]
      script    = "mkdir -p published; cp out/package.txt published/package.txt"
    }
  }
}
