# Tests the library that is in a directory, with a host. What holds goes to standard output,
# and what does not to standard error.
#
#   sh [OPTIONS] spec.sh DIRECTORY HOST
set -eu

STORE=$1
. "$STORE/react.sh"
. "$STORE/middleware.sh"
. "$2"
wrong=0
file=$(mktemp)

# holds WHAT GOT WANT
holds() {
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
  else
    printf 'not ok: %s: %s\nwant: %s\n' "$1" "$2" "$3" >&2
    wrong=1
  fi
}

store_set bears 1
store_set fish 0
bears=$(store_get bears)
holds "a value is what it was set to" "$bears" 1

shown=$(
  use_store "bears fish"
  store_set bears 2
  store_set honey 3
  store_set fish 4
)
holds "what is used is shown, now and after a change" "$shown" "bears is 1
fish is 0
bears is 2
fish is 4"

echo "bears=7" >| "$file"
loaded=$(
  persist "$file"
  store_set fish '8 = 8'
  store_get bears
)
saved=$(cat "$file")
rm "$file"
holds "a value is loaded" "$loaded" 7
holds "a change is saved" "$saved" "bears=7
fish=8 = 8"

if shallow_equal "a b" "b a" && ! shallow_equal "a b" "a"; then same=yes; else same=no; fi
holds "the order does not count" "$same" yes

warning=$(store_get honey 2>&1)
if [ "${MODE-}" = development ]; then
  holds "in development, a value that nobody has set is reported" "$warning" "nobody has set honey"
else
  holds "in production, a value that nobody has set is empty" "$warning" ""
fi
exit "$wrong"
