# What globs cannot say, and directories and exclusions among artifacts.
# 17: Invalid glob
# 17: Invalid glob
# 17: Invalid glob
# 21: Exclusion without effect
# 22: Path outside the workspace
# 32: Overlapping artifacts
# 36: Overlapping artifacts
# 50: Input written at the same time
# 56: Exclusion of everything
# 57: Path that no glob sees

pipeline "PRD-001" {
  phase "globs" {
    workstream "glued" {
      command = ["true"]
      inputs  = ["src/**.py", "src**", "{a,b**}/x", "src/**/*.py"]
    }
    workstream "excluded" {
      command   = ["true"]
      inputs    = ["!src/gen/**", "src/**"]
      artifacts = ["out/**", "!../x"]
    }
  }
  phase "directories" {
    workstream "site" {
      command   = ["true"]
      artifacts = ["site", "*/docs", "all/**", "!all/b", "!**/*.md"]
    }
    workstream "page" {
      command   = ["true"]
      artifacts = ["site/index.html"]
    }
    workstream "docs" {
      command   = ["true"]
      artifacts = ["api/docs/index.html"]
    }
    workstream "apart" {
      command   = ["true"]
      artifacts = ["site.txt", "all/b/x.txt", "all/c/x.md"]
    }
  }
  phase "inputs" {
    workstream "writer" {
      command   = ["true"]
      artifacts = ["lib/a.o", "gen/b.o"]
    }
    workstream "reader" {
      command = ["true"]
      inputs  = ["lib", "gen", "!gen/*.o"]
    }
  }
  phase "nothing" {
    workstream "of" {
      command   = ["true"]
      inputs    = ["src", "!src"]
      artifacts = [".git/*", "out", "!.git/x"]
    }
  }
}
