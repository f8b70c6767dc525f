# A mail when a check fails, as for a run that nobody watches. One article of stock/paint.txt
# has no number, so the check fails.
#
#   runner -C examples/notify build PRD-011 --var mail_to=you@example.com
#
# Write a number behind "blue", resume, and get the mail that says so:
#
#   runner -C examples/notify build PRD-011 --resume --var mail_to=you@example.com
#
# It needs jq, and sendmail or mail in PATH.

variable "mail_to" {
  type    = string
  default = "team@example.com"
}

pipeline "PRD-011" {
  title = "Stock"

  hook {
    on      = ["complete", "failed"]
    command = ["sh", "mail.sh"]
    env     = { MAIL_TO = var.mail_to }
    retry {
      attempts      = 3
      on_exit_codes = [75] # of sendmail: it can't be done now
    }
  }

  phase "check" {
    workstream "count" {
      inputs    = ["stock/*.txt"]
      artifacts = ["out/stock.txt"]
      script    = <<-EOT
        mkdir -p out
        awk 'NF != 2 { print FILENAME ":" FNR ": no number of " $1; bad = 1 } END { exit bad }' stock/*.txt
        awk '{ sum += $2 } END { print sum }' stock/*.txt > out/stock.txt
      EOT
    }
  }
}
