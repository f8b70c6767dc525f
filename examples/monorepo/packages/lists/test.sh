# The test of package lists, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/lists.sh"

expect '3' "$(lists_length a b c)"
expect 'c' "$(lists_last a b c)"
