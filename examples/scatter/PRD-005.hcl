# Scatter and gather: each file of texts/ is counted by a workstream of its own, side by
# side, and the counts come together in one table.
#
#   runner -C examples/scatter build PRD-005
#   echo 'The mill burned down.' > examples/scatter/texts/news.txt
#   runner -C examples/scatter build PRD-005 --resume    counts news.txt, and gathers again
#
# A new file is a new instance, one that is deleted is an instance less; the others are reused.

locals {
  texts = fileset("texts", "*.txt")
}

pipeline "PRD-005" {
  title = "Words of all texts"

  defaults {
    retry { attempts = 2 }
  }

  phase "scatter" {
    max_parallel = 4

    # Instances are count["brook.txt"], count["ferry.txt"], …
    workstream "count" {
      for_each  = local.texts
      inputs    = ["texts/${each.key}"]
      artifacts = ["out/counts/${each.key}"]
      env       = { TEXT = each.key, LC_ALL = "C" }

      script = <<-EOT
        mkdir -p out/counts
        tr -cs 'A-Za-z' '\n' < "texts/$TEXT" | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -c > "out/counts/.$TEXT.tmp"
        mv "out/counts/.$TEXT.tmp" "out/counts/$TEXT"
        awk '{ n += $1 } END { print "words=" n }' "out/counts/$TEXT" >> "$RUNNER_OUTPUT"
      EOT
    }
  }

  phase "gather" {
    workstream "table" {
      depends_on = [workstream.count]
      artifacts  = ["out/words.tsv"]

      # What the instances made, and nothing that is left of a text which is gone.
      env = {
        COUNTS = join("\n", flatten([for name, text in workstream.count : text.artifacts]))
        LC_ALL = "C"
      }
      script = <<-EOT
        printf '%s\n' "$COUNTS" | while IFS= read -r file; do cat "$file"; done |
          awk '{ n[$2] += $1 } END { for (word in n) printf "%s\t%d\n", word, n[word] }' |
          sort -k 2,2nr -k 1,1 > out/words.tmp
        mv out/words.tmp out/words.tsv
        awk -F '\t' '{ n += $2 } END { print "metric.words=" n }' out/words.tsv >> "$RUNNER_OUTPUT"
      EOT

      # No word is lost on the way, and none is counted twice.
      gate "all-words" {
        condition     = metric.words == sum([for name, text in workstream.count : tonumber(text.outputs.words)])
        error_message = "The table has ${metric.words} words, and the texts have another number."
      }
    }
  }
}
