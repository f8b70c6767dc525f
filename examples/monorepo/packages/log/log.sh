## package log
# log_line LEVEL TEXT prints a line of a log, unless its level is silenced.
log_line() { [ "$1" = "$(env_or SILENCED none)" ] || printf '%s: %s\n' "$1" "$2"; }
