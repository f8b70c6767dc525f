# The test of package style, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/style.sh"

expect 'TOTALS' "$(style_title totals)"
