# Runs the tests with options of the shell, and keeps what holds in a file.
#
#   sh test.sh OPTIONS DIRECTORY HOST FILE
set -eu

mkdir -p "${4%/*}"
sh "$1" spec.sh "$2" "$3" > "$4.tmp"
mv "$4.tmp" "$4"
