# The test of package numbers, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/numbers.sh"

expect '12' "$(numbers_max 7 12)"
expect 'yes' "$(numbers_is 12 && echo yes)"
