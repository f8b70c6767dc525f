# Samples are mapped and sorted one by one, variants are called over all of them. What an
# instance needs of the phase before is a file, not the whole block.
locals {
  samples = toset([for file in fileset("reads", "*.txt") : trimsuffix(file, ".txt")])
}

pipeline "PRD-103" {
  phase "mapping" {
    workstream "map" {
      for_each  = local.samples
      inputs    = ["reference/genome.txt", "reads/${each.key}.txt"]
      artifacts = ["mapped/${each.key}.txt"]
      env       = { SAMPLE = each.key }
      script    = "mkdir -p mapped; cat reference/genome.txt \"reads/$SAMPLE.txt\" > \"mapped/$SAMPLE.txt\""
    }
  }

  phase "sorting" {
    workstream "sort" {
      for_each  = local.samples
      inputs    = ["mapped/${each.key}.txt"]
      artifacts = ["sorted/${each.key}.txt"]
      env       = { SAMPLE = each.key }
      script    = "mkdir -p sorted; sort \"mapped/$SAMPLE.txt\" > \"sorted/$SAMPLE.txt\""
    }
  }

  phase "variants" {
    workstream "call" {
      inputs    = ["reference/genome.txt", "sorted/*.txt"]
      artifacts = ["calls/all.txt"]
      script    = "mkdir -p calls; cat reference/genome.txt sorted/*.txt | sort | uniq -c > calls/all.txt"
    }
    workstream "plot" {
      depends_on = [workstream.call]
      inputs     = ["plot.txt"]
      artifacts  = ["plots/quality.txt"]
      script     = "mkdir -p plots; cat plot.txt calls/all.txt > plots/quality.txt"
    }
  }
}
