# The test of package sum, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/sum.sh"

expect '6' "$(sum_of 1 2 x 3)"
