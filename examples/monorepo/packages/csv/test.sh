# The test of package csv, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/csv.sh"

expect '1 2 ' "$(printf 'a, 1\nb, 2\n' > "$tmp"; csv_column "$tmp" 2 | tr '\n' ' ')"
