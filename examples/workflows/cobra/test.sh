# Compiles the package with its tests for a platform and a version of the language, runs the
# tests if this machine is such a platform, and writes what was compiled to a file.
#
#   sh test.sh PLATFORM VERSION FILE
set -eu

GOOS=$1 CGO_ENABLED=0
export GOOS CGO_ENABLED
host=$(go env GOHOSTOS)
go test -c -vet=off -trimpath "-gcflags=-lang=go$2" -o commands.test
if [ "$GOOS" = "$host" ]; then
  ./commands.test -test.v
fi
mkdir -p "${3%/*}"
go version -m commands.test > "$3"
