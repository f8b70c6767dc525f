# The test of package dates, over its bundle.
set -eu
. ./tools/expect.sh
. "./dist/dates.sh"

expect 'leap' "$(dates_leap "$(dates_year 2024-02-29)" && echo leap)"
