# The test of package env, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/env.sh"

expect 'blue' "$(env_or NO_SUCH_NAME blue)"
