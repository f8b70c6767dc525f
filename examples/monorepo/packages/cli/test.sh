# The test of package cli, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/cli.sh"

expect 'info: 3 numbers' "$(cli_main 1 2 3 | head -n 1)"
