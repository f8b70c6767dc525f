# expect WANT GOT ends a test with the place of the first difference.
tmp=${TMPDIR:-/tmp}/monorepo.$$
trap 'rm -f "$tmp"' EXIT
expect() { [ "$1" = "$2" ] || { echo "$0: got '$2', want '$1'" >&2; exit 1; }; }
