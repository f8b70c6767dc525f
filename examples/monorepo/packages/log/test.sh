# The test of package log, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/log.sh"

expect 'info: ready' "$(log_line info ready)"
