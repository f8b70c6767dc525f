# The test of package report, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/report.sh"

expect 'SALES' "$(report_of sales 2 4 | head -n 1)"
