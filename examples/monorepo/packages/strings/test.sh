# The test of package strings, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/strings.sh"

expect 'SEA' "$(strings_upper sea)"
expect 'river' "$(strings_longer sea river)"
