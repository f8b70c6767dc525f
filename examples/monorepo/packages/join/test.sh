# The test of package join, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/join.sh"

expect 'a-b-c' "$(join_with - a b c)"
