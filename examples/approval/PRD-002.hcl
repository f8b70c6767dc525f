# Two ways to wait for a person: a gate that pauses after it has passed, for
# review, and a gate that is an approval.
#
#   runner -C examples/approval build PRD-002            stops: the notes are to be read
#   runner -C examples/approval build PRD-002 --resume   stops: the release is to be approved
#   runner -C examples/approval approve PRD-002
#   runner -C examples/approval build PRD-002 --resume   makes the release
#
# Change a file of changes/ in between, and what was approved is asked again.

pipeline "PRD-002" {
  title = "Release notes"

  phase "draft" {
    workstream "notes" {
      title     = "Collect the notes"
      inputs    = ["changes/*.txt"]
      artifacts = ["out/notes.md"]
      env       = { LC_ALL = "C" }

      # A fragment's first line is its heading, the others are its text.
      script = <<-EOT
        mkdir -p out
        awk 'FNR == 1 { printf "%s## %s\n\n", (NR == 1 ? "" : "\n"), $0; next } { print }' changes/*.txt > out/notes.tmp
        mv out/notes.tmp out/notes.md
      EOT

      gate "every-change" {
        pause  = true
        script = <<-EOT
          for change in changes/*.txt; do
            grep -qxF "## $(head -n 1 "$change")" out/notes.md || { echo "$change:1: not in the notes" >&2; exit 1; }
          done
        EOT
      }
    }

    gate "sign-off" {
      approval {
        message = "Release with the notes in out/notes.md?"
      }
    }
  }

  phase "release" {
    workstream "archive" {
      title      = "Make the release"
      depends_on = [workstream.notes]
      artifacts  = ["out/release/*"]

      script = <<-EOT
        mkdir -p out/release
        cp out/notes.md out/release/NOTES.md
        (cd out/release && cksum NOTES.md > CHECKSUM.tmp && mv CHECKSUM.tmp CHECKSUM)
      EOT

      gate "checksum" {
        script = "cd out/release && cksum NOTES.md | cmp - CHECKSUM"
      }
    }
  }
}
