# The release of a monorepo: jest's 54 packages, each packed as soon as the packages are packed that it
# needs. The graph, with 209 edges, stands in the manifests of the packages and nowhere else.
#
#   runner -C examples/workflows/jest build PRD-109
#   runner -C examples/workflows/jest build PRD-109 --resume    exits 6: nothing to do
#
# Raise a version, say in packages/jest-snapshot/package.json, and see what that leads to:
#
#   runner -C examples/workflows/jest plan PRD-109 --resume
#
# Origin: https://github.com/jestjs/jest, v30.4.2 (MIT): packages/*/package.json, of which name, version
# and dependencies are here, without the private @jest/test-globals, which nothing needs. There,
# tsconfig.json repeats the graph for each package, and scripts/buildTs.mjs checks that it is the same.

locals {
  manifests = { for path in fileset("packages", "*/package.json") : dirname(path) => jsondecode(file("packages/${path}")) }
  packages  = { for package, manifest in local.manifests : manifest.name => package }

  # The packages of this repository that a package needs. The others come from a registry.
  needs = {
    for package, manifest in local.manifests :
    package => [for name in keys(manifest.dependencies) : local.packages[name] if contains(keys(local.packages), name)]
  }
}

pipeline "PRD-109" {
  title = "Release of 54 packages"

  phase "packages" {
    workstream "package" {
      for_each   = local.needs
      depends_on = [for needed in each.value : workstream.package[needed]]
      command    = concat(["sh", "tools/pack.sh", each.key], each.value)
      inputs     = ["packages/${each.key}/package.json", "tools/pack.sh"]
      artifacts  = ["dist/${each.key}/package.json", "dist/${each.key}/installs.txt"]

      gate "versions" {
        condition     = !strcontains(file("dist/${each.key}/package.json"), "workspace:")
        error_message = "The manifest of ${each.key} still refers to the repository."
      }
    }
  }

  phase "release" {
    workstream "table" {
      depends_on = [workstream.package]
      script     = "sh tools/table.sh ${join(" ", keys(local.needs))} > dist/table.txt"
      inputs     = ["tools/table.sh"]
      artifacts  = ["dist/table.txt"]
    }
  }
}
