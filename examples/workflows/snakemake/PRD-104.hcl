# Variants in a genome: the reads of each sample are mapped, sorted and indexed, variants are
# called over all samples, and their qualities are drawn.
#
#   runner -C examples/workflows/snakemake build PRD-104
#   runner -C examples/workflows/snakemake build PRD-104 --resume   exit code 6: nothing is left to do
#
# Then add "  C: data/samples/C.fastq" to the samples in config.yaml. The plan has three new
# steps for the new sample, and calls and draws again.
#
# After the workflow of Snakemake's tutorial (github.com/snakemake/snakemake,
# docs/tutorial/advanced.rst, MIT License), with a small genome, and with programs in awk in place of
# bwa, samtools and bcftools. Runner keeps what each step prints, so no step has a log of its own.

locals {
  config = yamldecode(file("config.yaml"))
}

pipeline "PRD-104" {
  title = "Variants of ${join(", ", keys(local.config.samples))}"

  defaults {
    env = { LC_ALL = "C" } # so that the order of reads is the same everywhere
  }

  phase "variants" {
    workstream "map" {
      for_each  = local.config.samples
      inputs    = ["scripts/map.awk", "data/genome.fa", each.value]
      artifacts = ["mapped_reads/${each.key}.sam"]
      env       = { SAMPLE = each.key, READS = each.value }
      script    = <<-EOT
        mkdir -p mapped_reads
        awk -v sample="$SAMPLE" -f scripts/map.awk data/genome.fa "$READS" > "mapped_reads/$SAMPLE.sam"
      EOT
    }

    workstream "sort" {
      for_each   = local.config.samples
      depends_on = [workstream.map[each.key]]
      artifacts  = ["sorted_reads/${each.key}.sam"]
      env        = { SAMPLE = each.key }
      script     = <<-EOT
        mkdir -p sorted_reads
        sort -k 4,4n -k 1,1 "mapped_reads/$SAMPLE.sam" > "sorted_reads/$SAMPLE.sam"
      EOT
    }

    workstream "index" {
      for_each   = local.config.samples
      depends_on = [workstream.sort[each.key]]
      inputs     = ["scripts/index.awk"]
      artifacts  = ["sorted_reads/${each.key}.sam.index"]
      env        = { READS = "sorted_reads/${each.key}.sam" }
      script     = "awk -f scripts/index.awk \"$READS\" > \"$READS.index\""
    }

    workstream "call" {
      depends_on = [workstream.sort, workstream.index]
      inputs     = ["scripts/call.awk", "data/genome.fa"]
      artifacts  = ["calls/all.vcf"]
      env = {
        RATE  = local.config.prior_mutation_rate
        FILES = join(" ", flatten([for step in concat(values(workstream.sort), values(workstream.index)) : step.artifacts]))
      }
      script = "mkdir -p calls && awk -v rate=\"$RATE\" -f scripts/call.awk data/genome.fa $FILES > calls/all.vcf"
    }

    workstream "plot" {
      depends_on = [workstream.call]
      inputs     = ["scripts/plot.awk"]
      artifacts  = ["plots/quals.svg"]
      script     = "mkdir -p plots && awk -f scripts/plot.awk calls/all.vcf > plots/quals.svg"
    }
  }
}
