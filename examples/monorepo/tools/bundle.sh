# bundle.sh NAME DEPENDENCY... writes dist/NAME.sh: a package behind all that it needs,
# each package once.
set -eu
name=$1
shift
mkdir -p dist
{
  for dependency; do cat "dist/$dependency.sh"; done
  cat "packages/$name/$name.sh"
} | awk '/^## package / { again = seen[$3]++ } !again' > "dist/.$name.tmp"
mv "dist/.$name.tmp" "dist/$name.sh"
