## package cli
# cli_main NUMBER... is the program: a log line, and a report.
cli_main() { log_line info "$(lists_length "$@") numbers"; report_of totals "$@"; }
