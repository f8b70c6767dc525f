# The release of a library: it is built, packed, and published once a person has agreed.
#
#   runner -C examples/workflows/zustand build PRD-103            exit code 3: waits for the approval
#   runner -C examples/workflows/zustand approve PRD-103
#   runner -C examples/workflows/zustand build PRD-103 --resume   publishes
#
# After a workflow of zustand (github.com/pmndrs/zustand, .github/workflows/publish.yml, MIT
# License), which begins when a person has published a release. A directory stands for the
# registry. As there, a version is published once, and never changed.

include = ["library.hcl"]

pipeline "PRD-103" {
  title = "Release of ${local.package.name} ${local.package.version}"

  phase "package" {
    workstream "bundle" {
      for_each  = local.bundles
      script    = local.build
      env       = { FORMAT = each.value.format, ENTRY = each.value.entry }
      inputs    = concat(["build.awk"], [for name in each.value.sources : "src/${name}.sh"])
      artifacts = ["dist/${each.value.format}/${each.value.entry}.sh"]
    }

    workstream "pack" {
      depends_on = [workstream.bundle]
      inputs     = ["dist/**", "package.yaml"]
      artifacts  = ["package/**"]
      gates      = [gate.parses]
      script     = <<-EOT
        rm -rf package
        mkdir package
        cp -R dist/cjs dist/esm package.yaml package
        cd package
        cksum package.yaml */*.sh > files.txt
      EOT
    }

    gate "sign-off" {
      approval { message = "Publish ${local.package.name} ${local.package.version}?" }
    }
  }

  phase "release" {
    workstream "publish" {
      effect     = "once"
      depends_on = [workstream.pack]
      command    = ["sh", "publish.sh", local.package.version]
      verify     = ["sh", "-c", "test -d registry/$1 && cmp package/files.txt registry/$1/files.txt", "sh", local.package.version]
      artifacts  = ["registry/${local.package.version}/**"]
    }
  }
}
