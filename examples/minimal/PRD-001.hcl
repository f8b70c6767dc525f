# The smallest sensible pipeline: one workstream, its artifact, one gate.
# It counts how often each word of a text occurs, and checks the sum.
#
#   runner -C examples/minimal build PRD-001

pipeline "PRD-001" {
  title = "Word count"

  phase "count" {
    workstream "words" {
      title     = "Words by frequency"
      inputs    = ["text.txt"]
      artifacts = ["out/words.txt"]
      env       = { LC_ALL = "C" } # so that the order is the same everywhere

      # A file that is moved into place is never half written.
      script = <<-EOT
        mkdir -p out
        tr -cs 'A-Za-z' '\n' < text.txt | tr 'A-Z' 'a-z' | sed '/^$/d' |
          sort | uniq -c | sort -k1,1nr -k2 > out/words.tmp
        mv out/words.tmp out/words.txt
      EOT

      # Counted in another way, the text must have as many words.
      gate "sum" {
        script = <<-EOT
          listed=$(awk '{ n += $1 } END { print n + 0 }' out/words.txt)
          actual=$(awk '{ n += gsub(/[A-Za-z]+/, "") } END { print n + 0 }' text.txt)
          echo "$listed words listed, $actual in the text"
          test "$listed" -gt 0 && test "$listed" -eq "$actual"
        EOT
      }
    }
  }
}
