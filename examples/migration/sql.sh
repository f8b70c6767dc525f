#!/bin/sh
# Runs the SQL on standard input in the shop's database, all of it or none, and prints the
# rows that it selects. "./sql.sh schema" prints the tables instead.
set -eu
case "${DRIVER:-sqlite} ${1:-run}" in
"sqlite run") go run ./cmd/db run "${DATABASE:-shop.db}" ;;
"sqlite schema") go run ./cmd/db describe "${DATABASE:-shop.db}" ;;
"postgres run") psql -X -q -At -v ON_ERROR_STOP=1 -v VERBOSITY=terse -1 -f - "$DATABASE" ;;
"postgres schema") psql -X -c '\d customers' -c '\d orders' "$DATABASE" ;;
*) echo "sql.sh: the driver is sqlite or postgres, and the argument schema or none" >&2 && exit 2 ;;
esac
