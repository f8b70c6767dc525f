# What the pipelines of the library share.

locals {
  package = yamldecode(file("package.yaml"))

  # The entries of the library, each with the entries that it needs.
  entries = {
    vanilla    = []
    shallow    = []
    middleware = ["vanilla"]
    react      = ["vanilla", "shallow"]
  }

  # What is built: each entry in each format. In cjs a file has what it needs.
  bundles = merge(
    { for name, needs in local.entries : "cjs-${name}" => { format = "cjs", entry = name, sources = concat([name], needs) } },
    { for name, needs in local.entries : "esm-${name}" => { format = "esm", entry = name, sources = [name] } },
  )
  build = <<-EOT
    mkdir -p "dist/$FORMAT"
    awk -v format="$FORMAT" -v entry="$ENTRY" -f build.awk > "dist/$FORMAT/$ENTRY.sh"
  EOT
}

# Every file that was built is a program.
gate "parses" {
  inputs = ["dist/**"]
  script = "for file in dist/*/*.sh; do sh -n \"$file\"; done"
}
