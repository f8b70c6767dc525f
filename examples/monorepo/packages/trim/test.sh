# The test of package trim, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/trim.sh"

expect 'a b' "$(trim_both '  a b ')"
