# Publishes a version. The directory of the version is complete as soon as it is there.
#
#   sh publish.sh VERSION
set -eu

if [ -e "registry/$1" ]; then
  echo "version $1 is published already; give package.yaml another one" >&2
  exit 1
fi
rm -rf registry/.new
mkdir -p registry/.new
cp -R package/. registry/.new
mv registry/.new "registry/$1"
