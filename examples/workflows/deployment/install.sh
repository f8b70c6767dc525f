# Puts a program into a directory, in place of the one that runs there: sh install.sh PROGRAM DIRECTORY
set -eu
mkdir -p "$2"
cp "$1" "$2/new"
mv "$2/new" "$2/${1##*/}"
