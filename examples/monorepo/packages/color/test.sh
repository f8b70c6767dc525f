# The test of package color, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/color.sh"

expect 'on' "$(COLOR=1; color_on && echo on)"
