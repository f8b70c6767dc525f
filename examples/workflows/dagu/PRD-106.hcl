# A job over tables and a file: two tables are prepared by a pipeline that this one calls, the file beside
# them by three steps. They are merged, and the result is reported and reconciled with what was paid.
#
#   runner -C examples/workflows/dagu build PRD-106                  a customer has not paid all: allowed, and claimed
#   runner -C examples/workflows/dagu status PRD-106.table.orders    the session of a called pipeline
#   runner -C examples/workflows/dagu logs PRD-106 reconcile
#   runner -C examples/workflows/dagu build PRD-106 --resume --var close=true
#
# Take the rate of usd out of data/rates.csv: some orders can't be merged any more, the build fails, and its
# handlers run all the same: handler.txt says so, and what the merge has left in work/ is removed.
#
# Origin: the examples of https://github.com/dagu-org/dagu (GPL-3.0): complex_dag.yaml has the graph,
# example_2.yaml the precondition, the step that may fail and the handlers, and
# example-04-nested-workflows.yaml the call with parameters.

variable "close" {
  type        = bool
  default     = false
  description = "whether the month is closed"
}

pipeline "PRD-106" {
  title = "The month's sales"

  defaults {
    env = { LC_ALL = "C" } # the order of sort
  }

  hook {
    on     = ["complete", "failed", "interrupted"]
    script = "echo \"$RUNNER_PRD: $RUNNER_STATUS\" > handler.txt"
  }

  phase "job" {
    workstream "initialize" {
      inputs = ["data/orders.csv", "month.awk"]
      script = "awk -F , -f month.awk data/orders.csv >> \"$RUNNER_OUTPUT\""
    }

    workstream "table" {
      for_each   = toset(["orders", "prices"])
      depends_on = [workstream.initialize]
      inputs     = ["data/${each.key}.csv", "validate.awk"]
      artifacts  = ["out/${each.key}/table.csv"]

      call {
        file = "table.hcl"
        vars = { table = each.key, month = workstream.initialize.outputs.month }
      }
    }

    workstream "check-file" {
      inputs = ["data/rates.csv"]
      script = "awk 'NR == 1 { right = $0 == \"currency,euros\" } END { exit !right }' data/rates.csv"
    }

    workstream "copy-file" {
      depends_on = [workstream.check-file]
      inputs     = ["data/rates.csv"]
      artifacts  = ["out/rates.csv"]
      script     = "mkdir -p out && awk 'NR > 1 && !/^#/ { print toupper($0) }' data/rates.csv > out/rates.csv"
    }

    workstream "validate-file" {
      depends_on = [workstream.copy-file]
      script     = "awk -F , '$2 + 0 <= 0 { print \"no rate of \" $1; bad = 1 } END { exit bad }' out/rates.csv"
    }

    workstream "merge" {
      depends_on = [workstream.table, workstream.validate-file]
      inputs     = ["merge.awk"]
      artifacts  = ["out/merged.csv"]
      script     = <<-EOT
        mkdir -p work
        awk -F , -f merge.awk out/rates.csv out/prices/table.csv out/orders/table.csv > work/merged.csv
        awk 'END { print "metric.merged=" NR }' work/merged.csv >> "$RUNNER_OUTPUT"
        sort -o out/merged.csv work/merged.csv
      EOT

      gate "every-order-has-a-price" {
        condition     = metric.merged == tonumber(workstream.table["orders"].outputs.rows)
        error_message = "Of ${workstream.table["orders"].outputs.rows} orders, ${metric.merged} have a price."
      }
    }

    workstream "calculate" {
      depends_on = [workstream.merge]
      inputs     = ["totals.awk"]
      artifacts  = ["out/totals.csv"]
      script     = "awk -F , -f totals.awk out/merged.csv > out/totals.csv"
    }

    workstream "report" {
      depends_on = [workstream.calculate]
      inputs     = ["report.awk"]
      artifacts  = ["out/report.txt"]
      env        = { MONTH = workstream.initialize.outputs.month }
      script     = "awk -F , -v month=\"$MONTH\" -f report.awk out/totals.csv > out/report.txt"
    }

    workstream "reconcile" {
      depends_on    = [workstream.calculate]
      inputs        = ["data/ledger.csv", "reconcile.awk"]
      allow_failure = true
      script        = "awk -f reconcile.awk -v strict=1 data/ledger.csv out/totals.csv"
    }

    workstream "claim" {
      depends_on = [workstream.reconcile]
      run_on     = "failed"
      inputs     = ["data/ledger.csv", "reconcile.awk"]
      artifacts  = ["out/claims.csv"]
      script     = "awk -f reconcile.awk data/ledger.csv out/totals.csv > out/claims.csv"
    }

    workstream "close" {
      depends_on = [workstream.report, workstream.reconcile]
      when       = var.close
      artifacts  = ["out/closed.txt"]
      script     = "cksum out/totals.csv out/report.txt > out/closed.txt"
    }
  }

  # What the other phases leave behind is removed, however they ended.
  phase "exit" {
    run_on = "always"
    workstream "clean" { script = "if [ -d work ]; then find work -type f -exec wc -l {} +; rm -r work; fi" }
  }
}
