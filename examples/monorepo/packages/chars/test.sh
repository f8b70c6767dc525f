# The test of package chars, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/chars.sh"

expect '6' "$(chars_count forest)"
expect 'ababab' "$(chars_repeat ab 3)"
