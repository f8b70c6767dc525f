# Genomes from reads: each sample is cleaned, the samples of a place are assembled in a loop
# until nothing joins any more, and each contig that came out is described by itself.
#
#   runner -C examples/workflows/nextflow build PRD-105            one sample is damaged, and left out
#   runner -C examples/workflows/nextflow build PRD-105 --resume   exit code 6: nothing is left to do
#   runner -C examples/workflows/nextflow build PRD-105 --resume --var proteins=false
#
# After patterns of Nextflow (github.com/nextflow-io/patterns, MIT License), each named where it
# is used, by the name of its file there.

variable "proteins" {
  type        = bool
  default     = true
  description = "Whether to translate the contigs"
}

locals {
  samples = { for row in csvdecode(file("index.csv")) : row.sample => row.reads }
  places  = { for sample in keys(local.samples) : split("_", sample)[0] => sample... }
}

pipeline "PRD-105" {
  title = "Contigs from ${length(local.samples)} samples"

  defaults {
    env = { LC_ALL = "C" }
  }

  phase "samples" {
    # process-per-csv-record, process-get-workdir: a sample for each row, in a directory of its
    # own, where nothing is but its inputs. ignore-failing-process: a damaged one is left out.
    workstream "clean" {
      for_each      = local.samples
      inputs        = ["clean.awk", each.value]
      artifacts     = ["out/clean/${each.key}.fa"]
      allow_failure = true
      env           = { SAMPLE = each.key, READS = each.value }
      script        = <<-EOT
        mkdir -p out/clean
        awk -f clean.awk "$READS" > "out/clean/$SAMPLE.fa"
      EOT
      isolate { exclude = ["**"] }
    }
  }

  phase "places" {
    # process-into-groups: the samples of a place, as the beginnings of their names have it.
    # process-when-empty: a place without any is skipped.
    workstream "pool" {
      for_each   = local.places
      depends_on = [for sample in each.value : workstream.clean[sample]]
      when       = anytrue([for sample in each.value : workstream.clean[sample].status == "completed"])
      artifacts  = ["out/pooled/${each.key}.fa"]
      env = {
        PLACE   = each.key
        CLEANED = join(" ", flatten([for sample in each.value : workstream.clean[sample].artifacts]))
      }
      script = <<-EOT
        mkdir -p out/pooled
        cat $CLEANED > "out/pooled/$PLACE.fa"
      EOT
    }
  }

  # feedback-loop-process: what comes out goes in again.
  phase "assembly" {
    repeat {
      until = alltrue([for place in workstream.assemble : try(tonumber(place.outputs.joined), 0) == 0])
      max   = 20
    }

    workstream "assemble" {
      for_each   = local.places
      depends_on = [workstream.pool[each.key]]
      inputs     = ["assemble.awk"]
      artifacts  = ["out/assembled/${each.key}.fa"]
      env = {
        FROM  = iteration.index == 1 ? "out/pooled/${each.key}.fa" : "out/assembled/${each.key}.fa"
        PLACE = each.key
      }
      script = <<-EOT
        mkdir -p out/assembled
        awk -v outputs="$RUNNER_OUTPUT" -f assemble.awk "$FROM" > "out/assembled/$PLACE.tmp"
        mv "out/assembled/$PLACE.tmp" "out/assembled/$PLACE.fa"
      EOT
    }
  }

  phase "contigs" {
    workstream "split" {
      depends_on = [workstream.assemble]
      inputs     = ["split.awk"]
      artifacts  = ["out/contigs/*.fa"]
      env        = { ASSEMBLED = join(" ", flatten([for place in workstream.assemble : place.artifacts])) }
      script     = <<-EOT
        rm -rf out/contigs
        mkdir -p out/contigs
        awk -v into=out/contigs -f split.awk $ASSEMBLED
      EOT
    }
  }

  # process-per-file-output: a process for each file, however many there are.
  phase "description" {
    workstream "describe" {
      for_each  = toset([for path in workstream.split.artifacts : trimsuffix(basename(path), ".fa")])
      inputs    = ["describe.awk", "out/contigs/${each.key}.fa"]
      artifacts = ["out/described/${each.key}.tsv"]
      env       = { CONTIG = each.key }
      script    = "mkdir -p out/described && awk -f describe.awk \"out/contigs/$CONTIG.fa\" > \"out/described/$CONTIG.tsv\""
    }

    # conditional-process: only if the variable says so.
    workstream "translate" {
      for_each  = toset([for path in workstream.split.artifacts : trimsuffix(basename(path), ".fa")])
      when      = var.proteins
      inputs    = ["translate.awk", "out/contigs/${each.key}.fa"]
      artifacts = ["out/translated/${each.key}.tsv"]
      env       = { CONTIG = each.key }
      script    = "mkdir -p out/translated && awk -f translate.awk \"out/contigs/$CONTIG.fa\" > \"out/translated/$CONTIG.tsv\""
    }
  }

  # collect-into-file, publish-process-outputs, optional-input: one table, with proteins if there
  # are any, and what was left out.
  phase "publication" {
    workstream "table" {
      inputs    = ["out/described/*.tsv", "out/translated/*.tsv"]
      artifacts = ["results/contigs.tsv", "results/proteins.tsv", "results/left-out.txt"]
      env = {
        DESCRIBED  = join(" ", flatten([for contig in workstream.describe : contig.artifacts]))
        TRANSLATED = join(" ", flatten([for contig in workstream.translate : contig.artifacts]))
        LEFT_OUT   = join("", [for sample, cleaned in workstream.clean : "${sample}\n" if cleaned.status == "failed"])
      }
      # Without a file, cat copies standard input, which is empty.
      script = <<-EOT
        mkdir -p results
        cat $DESCRIBED > results/contigs.tsv
        cat $TRANSLATED > results/proteins.tsv
        printf '%s' "$LEFT_OUT" > results/left-out.txt
      EOT
    }
  }
}
