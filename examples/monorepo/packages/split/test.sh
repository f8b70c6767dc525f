# The test of package split, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/split.sh"

expect 'b' "$(split_field a,b,c , 2)"
