# A repository of 20 packages that need one another: what changed is built again, with all
# that needs it, and nothing else.
#
#   runner -C examples/monorepo build PRD-004
#   echo '# changed' >> examples/monorepo/packages/csv/csv.sh
#   runner -C examples/monorepo plan PRD-004 --resume    csv, and table, report, mail and cli after it
#   runner -C examples/monorepo build PRD-004 --resume
#
# A package waits for those that it needs, and for no other. Its test is a gate.

pipeline "PRD-004" {
  title = "Twenty packages"

  phase "packages" {
    workstream "chars" {
      command   = ["sh", "tools/bundle.sh", "chars"]
      inputs    = ["packages/chars/chars.sh", "tools/bundle.sh"]
      artifacts = ["dist/chars.sh"]

      gate "test" {
        command = ["sh", "packages/chars/test.sh"]
        inputs  = ["dist/chars.sh", "packages/chars/test.sh", "tools/expect.sh"]
      }
    }

    workstream "numbers" {
      command   = ["sh", "tools/bundle.sh", "numbers"]
      inputs    = ["packages/numbers/numbers.sh", "tools/bundle.sh"]
      artifacts = ["dist/numbers.sh"]

      gate "test" {
        command = ["sh", "packages/numbers/test.sh"]
        inputs  = ["dist/numbers.sh", "packages/numbers/test.sh", "tools/expect.sh"]
      }
    }

    workstream "lists" {
      command   = ["sh", "tools/bundle.sh", "lists"]
      inputs    = ["packages/lists/lists.sh", "tools/bundle.sh"]
      artifacts = ["dist/lists.sh"]

      gate "test" {
        command = ["sh", "packages/lists/test.sh"]
        inputs  = ["dist/lists.sh", "packages/lists/test.sh", "tools/expect.sh"]
      }
    }

    workstream "env" {
      command   = ["sh", "tools/bundle.sh", "env"]
      inputs    = ["packages/env/env.sh", "tools/bundle.sh"]
      artifacts = ["dist/env.sh"]

      gate "test" {
        command = ["sh", "packages/env/test.sh"]
        inputs  = ["dist/env.sh", "packages/env/test.sh", "tools/expect.sh"]
      }
    }

    workstream "strings" {
      depends_on = [workstream.chars]
      command    = ["sh", "tools/bundle.sh", "strings", "chars"]
      inputs     = ["packages/strings/strings.sh", "tools/bundle.sh"]
      artifacts  = ["dist/strings.sh"]

      gate "test" {
        command = ["sh", "packages/strings/test.sh"]
        inputs  = ["dist/strings.sh", "packages/strings/test.sh", "tools/expect.sh"]
      }
    }

    workstream "pad" {
      depends_on = [workstream.strings]
      command    = ["sh", "tools/bundle.sh", "pad", "strings"]
      inputs     = ["packages/pad/pad.sh", "tools/bundle.sh"]
      artifacts  = ["dist/pad.sh"]

      gate "test" {
        command = ["sh", "packages/pad/test.sh"]
        inputs  = ["dist/pad.sh", "packages/pad/test.sh", "tools/expect.sh"]
      }
    }

    workstream "trim" {
      depends_on = [workstream.strings]
      command    = ["sh", "tools/bundle.sh", "trim", "strings"]
      inputs     = ["packages/trim/trim.sh", "tools/bundle.sh"]
      artifacts  = ["dist/trim.sh"]

      gate "test" {
        command = ["sh", "packages/trim/test.sh"]
        inputs  = ["dist/trim.sh", "packages/trim/test.sh", "tools/expect.sh"]
      }
    }

    workstream "split" {
      depends_on = [workstream.strings, workstream.lists]
      command    = ["sh", "tools/bundle.sh", "split", "strings", "lists"]
      inputs     = ["packages/split/split.sh", "tools/bundle.sh"]
      artifacts  = ["dist/split.sh"]

      gate "test" {
        command = ["sh", "packages/split/test.sh"]
        inputs  = ["dist/split.sh", "packages/split/test.sh", "tools/expect.sh"]
      }
    }

    workstream "join" {
      depends_on = [workstream.lists]
      command    = ["sh", "tools/bundle.sh", "join", "lists"]
      inputs     = ["packages/join/join.sh", "tools/bundle.sh"]
      artifacts  = ["dist/join.sh"]

      gate "test" {
        command = ["sh", "packages/join/test.sh"]
        inputs  = ["dist/join.sh", "packages/join/test.sh", "tools/expect.sh"]
      }
    }

    workstream "sum" {
      depends_on = [workstream.numbers, workstream.lists]
      command    = ["sh", "tools/bundle.sh", "sum", "numbers", "lists"]
      inputs     = ["packages/sum/sum.sh", "tools/bundle.sh"]
      artifacts  = ["dist/sum.sh"]

      gate "test" {
        command = ["sh", "packages/sum/test.sh"]
        inputs  = ["dist/sum.sh", "packages/sum/test.sh", "tools/expect.sh"]
      }
    }

    workstream "average" {
      depends_on = [workstream.sum]
      command    = ["sh", "tools/bundle.sh", "average", "sum"]
      inputs     = ["packages/average/average.sh", "tools/bundle.sh"]
      artifacts  = ["dist/average.sh"]

      gate "test" {
        command = ["sh", "packages/average/test.sh"]
        inputs  = ["dist/average.sh", "packages/average/test.sh", "tools/expect.sh"]
      }
    }

    workstream "csv" {
      depends_on = [workstream.split, workstream.trim]
      command    = ["sh", "tools/bundle.sh", "csv", "split", "trim"]
      inputs     = ["packages/csv/csv.sh", "tools/bundle.sh"]
      artifacts  = ["dist/csv.sh"]

      gate "test" {
        command = ["sh", "packages/csv/test.sh"]
        inputs  = ["dist/csv.sh", "packages/csv/test.sh", "tools/expect.sh"]
      }
    }

    workstream "table" {
      depends_on = [workstream.csv, workstream.pad]
      command    = ["sh", "tools/bundle.sh", "table", "csv", "pad"]
      inputs     = ["packages/table/table.sh", "tools/bundle.sh"]
      artifacts  = ["dist/table.sh"]

      gate "test" {
        command = ["sh", "packages/table/test.sh"]
        inputs  = ["dist/table.sh", "packages/table/test.sh", "tools/expect.sh"]
      }
    }

    workstream "dates" {
      depends_on = [workstream.numbers, workstream.split]
      command    = ["sh", "tools/bundle.sh", "dates", "numbers", "split"]
      inputs     = ["packages/dates/dates.sh", "tools/bundle.sh"]
      artifacts  = ["dist/dates.sh"]

      gate "test" {
        command = ["sh", "packages/dates/test.sh"]
        inputs  = ["dist/dates.sh", "packages/dates/test.sh", "tools/expect.sh"]
      }
    }

    workstream "log" {
      depends_on = [workstream.dates, workstream.env]
      command    = ["sh", "tools/bundle.sh", "log", "dates", "env"]
      inputs     = ["packages/log/log.sh", "tools/bundle.sh"]
      artifacts  = ["dist/log.sh"]

      gate "test" {
        command = ["sh", "packages/log/test.sh"]
        inputs  = ["dist/log.sh", "packages/log/test.sh", "tools/expect.sh"]
      }
    }

    workstream "color" {
      depends_on = [workstream.env]
      command    = ["sh", "tools/bundle.sh", "color", "env"]
      inputs     = ["packages/color/color.sh", "tools/bundle.sh"]
      artifacts  = ["dist/color.sh"]

      gate "test" {
        command = ["sh", "packages/color/test.sh"]
        inputs  = ["dist/color.sh", "packages/color/test.sh", "tools/expect.sh"]
      }
    }

    workstream "style" {
      depends_on = [workstream.color, workstream.strings]
      command    = ["sh", "tools/bundle.sh", "style", "color", "strings"]
      inputs     = ["packages/style/style.sh", "tools/bundle.sh"]
      artifacts  = ["dist/style.sh"]

      gate "test" {
        command = ["sh", "packages/style/test.sh"]
        inputs  = ["dist/style.sh", "packages/style/test.sh", "tools/expect.sh"]
      }
    }

    workstream "report" {
      depends_on = [workstream.table, workstream.average, workstream.style]
      command    = ["sh", "tools/bundle.sh", "report", "table", "average", "style"]
      inputs     = ["packages/report/report.sh", "tools/bundle.sh"]
      artifacts  = ["dist/report.sh"]

      gate "test" {
        command = ["sh", "packages/report/test.sh"]
        inputs  = ["dist/report.sh", "packages/report/test.sh", "tools/expect.sh"]
      }
    }

    workstream "mail" {
      depends_on = [workstream.report, workstream.trim]
      command    = ["sh", "tools/bundle.sh", "mail", "report", "trim"]
      inputs     = ["packages/mail/mail.sh", "tools/bundle.sh"]
      artifacts  = ["dist/mail.sh"]

      gate "test" {
        command = ["sh", "packages/mail/test.sh"]
        inputs  = ["dist/mail.sh", "packages/mail/test.sh", "tools/expect.sh"]
      }
    }

    workstream "cli" {
      depends_on = [workstream.report, workstream.log]
      command    = ["sh", "tools/bundle.sh", "cli", "report", "log"]
      inputs     = ["packages/cli/cli.sh", "tools/bundle.sh"]
      artifacts  = ["dist/cli.sh"]

      gate "test" {
        command = ["sh", "packages/cli/test.sh"]
        inputs  = ["dist/cli.sh", "packages/cli/test.sh", "tools/expect.sh"]
      }
    }
  }
}
