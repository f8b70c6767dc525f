# One workstream for each element of a map, whose outputs come together in
# another one, and gates over what came out.
#
#   runner -C examples/matrix build PRD-003
#   runner -C examples/matrix build PRD-003 --only 'measure["sea"]'   one of them again

locals {
  texts = {
    forest = "texts/forest.txt"
    city   = "texts/city.txt"
    sea    = "texts/sea.txt"
  }
}

pipeline "PRD-003" {
  title = "Readability of texts"

  phase "texts" {
    max_parallel = 2

    # Instances are measure["city"], measure["forest"] and measure["sea"].
    workstream "measure" {
      for_each  = local.texts
      title     = "Measure ${each.key}"
      inputs    = [each.value]
      artifacts = ["out/${each.key}.txt"]
      env       = { TEXT = each.value, NAME = each.key, LC_ALL = "C" }

      # The words that occur once are the artifact, the counts are outputs: the
      # file that RUNNER_OUTPUT names takes lines of name=value.
      script = <<-EOT
        mkdir -p out
        tr -cs 'A-Za-z' '\n' < "$TEXT" | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -u > "out/$NAME.tmp"
        mv "out/$NAME.tmp" "out/$NAME.txt"
        words=$(wc -w < "$TEXT")
        sentences=$(tr -cd '.!?' < "$TEXT" | wc -c)
        printf 'words=%d\nsentences=%d\n' "$words" "$sentences" >> "$RUNNER_OUTPUT"
      EOT

      gate "has-sentences" {
        condition     = tonumber(workstream.measure[each.key].outputs.sentences) > 0
        error_message = "${each.value} has no sentence. End one with a full stop."
      }
    }
  }

  phase "summary" {
    workstream "report" {
      depends_on = [workstream.measure]
      artifacts  = ["out/report.tsv"]

      # A row for each instance, made from its outputs.
      env = {
        ROWS = join("\n", [
          for name, text in workstream.measure : "${name}\t${text.outputs.words}\t${text.outputs.sentences}"
        ])
      }
      script = <<-EOT
        mkdir -p out
        printf '%s\n' "$ROWS" |
          awk -F '\t' '{ printf "%s\t%d\t%d\t%.1f\n", $1, $2, $3, $2 / $3 }' > out/report.tmp
        mv out/report.tmp out/report.tsv
        awk -F '\t' '
          { words += $2; sentences += $3 }
          END { printf "metric.words_per_sentence=%.1f\nmetric.texts=%d\n", words / sentences, NR }
        ' out/report.tsv >> "$RUNNER_OUTPUT"
      EOT
    }

    # A metric against bounds, and a condition over whatever is known.
    gate "readable" {
      metric = "words_per_sentence"
      min    = 4
      max    = 20
    }

    gate "all-texts" {
      condition     = metric.texts == length(local.texts)
      error_message = "The report has ${metric.texts} texts, the map has ${length(local.texts)}."
    }
  }
}
