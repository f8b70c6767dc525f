# The checks of a library before a change is taken: it is built in two formats, tested in both,
# with each version of what it is used with, and under strict rules, and measured.
#
#   runner -C examples/workflows/zustand build PRD-102
#   runner -C examples/workflows/zustand build PRD-102 --resume   exit code 6: nothing is left to do
#
# After the workflows of zustand (github.com/pmndrs/zustand, .github/workflows/test.yml,
# test-multiple-builds.yml, test-multiple-versions.yml, test-old-typescript.yml and
# compressed-size.yml, MIT License), which each install and build for themselves. Here the library
# is a store for shell scripts. Hosts stand for the versions of React, and options of the shell
# for the versions of TypeScript. PRD-103 releases the library.

include = ["library.hcl"]

locals {
  formats = toset(["cjs", "esm"])
  modes   = toset(["development", "production"])
  hosts   = toset([for name in fileset("hosts", "*.sh") : trimsuffix(name, ".sh")])
  current = "hosts/19.2.sh"
  options = { noglob = "-euf", noclobber = "-euC", allexport = "-eua" }
}

pipeline "PRD-102" {
  title = "Checks of ${local.package.name}"

  # No failure keeps anything else from being tested.
  phase "checks" {
    fail_fast = false

    workstream "source" {
      command   = ["sh", "test.sh", "-eu", "src", local.current, "out/source.txt"]
      inputs    = ["src/*.sh", "spec.sh", "test.sh", local.current]
      artifacts = ["out/source.txt"]

      gate "lint" {
        inputs = ["src/*.sh", "hosts/*.sh", "*.sh"]
        script = "for file in src/*.sh hosts/*.sh *.sh; do sh -n \"$file\"; done"
      }
    }

    # With each version of the host, as it is in the sources.
    workstream "host" {
      for_each  = local.hosts
      command   = ["sh", "test.sh", "-eu", "src", "hosts/${each.key}.sh", "out/host-${each.key}.txt"]
      inputs    = ["src/*.sh", "spec.sh", "test.sh", "hosts/${each.key}.sh"]
      artifacts = ["out/host-${each.key}.txt"]
    }

    workstream "bundle" {
      for_each  = local.bundles
      script    = local.build
      env       = { FORMAT = each.value.format, ENTRY = each.value.entry }
      inputs    = concat(["build.awk"], [for name in each.value.sources : "src/${name}.sh"])
      artifacts = ["dist/${each.value.format}/${each.value.entry}.sh"]
    }

    # What was built, in both formats and both modes.
    workstream "build" {
      for_each   = { for pair in setproduct(local.formats, local.modes) : "${pair[0]}-${pair[1]}" => { format = pair[0], mode = pair[1] } }
      depends_on = [for name in keys(local.entries) : workstream.bundle["${each.value.format}-${name}"]]
      command    = ["sh", "test.sh", "-eu", "dist/${each.value.format}", local.current, "out/build-${each.key}.txt"]
      env        = { MODE = each.value.mode }
      inputs     = ["spec.sh", "test.sh", local.current, "dist/${each.value.format}/*.sh"]
      artifacts  = ["out/build-${each.key}.txt"]
    }

    # Under rules that are stricter than those of the authors.
    workstream "strict" {
      for_each   = local.options
      depends_on = [for name in keys(local.entries) : workstream.bundle["cjs-${name}"]]
      command    = ["sh", "test.sh", each.value, "dist/cjs", local.current, "out/strict-${each.key}.txt"]
      inputs     = ["spec.sh", "test.sh", local.current, "dist/cjs/*.sh"]
      artifacts  = ["out/strict-${each.key}.txt"]
    }

    # How large the library is, against the last complete session.
    workstream "size" {
      depends_on = [workstream.bundle]
      inputs     = ["dist/**"]
      artifacts  = ["out/size.gz"]
      gates      = [gate.parses]
      script     = <<-EOT
        mkdir -p out
        cat dist/*/*.sh > out/size.tmp
        gzip -9 -n -c out/size.tmp > out/size.gz
        rm out/size.tmp
        bytes=$(wc -c < out/size.gz)
        echo "metric.compressed_bytes=$((bytes))" >> "$RUNNER_OUTPUT"
      EOT

      gate "growth" {
        metric   = "compressed_bytes"
        max_rise = 200
      }
    }
  }
}
