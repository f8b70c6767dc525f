# The test of package table, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/table.sh"

expect 'a       b       ' "$(table_row a b)"
