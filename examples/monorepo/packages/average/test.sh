# The test of package average, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/average.sh"

expect '5' "$(average_of 2 4 9)"
