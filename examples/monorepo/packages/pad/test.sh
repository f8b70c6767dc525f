# The test of package pad, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/pad.sh"

expect 'ab  |' "$(pad_right ab 4; echo "|")"
