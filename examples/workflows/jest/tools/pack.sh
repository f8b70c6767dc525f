# Packs a package that all it needs of the repository is packed for: sh tools/pack.sh PACKAGE [NEEDED …]
#
#   dist/PACKAGE/package.json   the manifest, with the versions of the needed packages in place of workspace:*
#   dist/PACKAGE/installs.txt   what an install of it brings: each package with its version, and those of the
#                               repository with the checksum of their manifest
set -eu
package=$1
shift
manifests="" installs=""
for needed; do
  manifests="$manifests dist/$needed/package.json"
  installs="$installs dist/$needed/installs.txt"
done
mkdir -p "dist/$package"

awk -F '"' -v manifest="packages/$package/package.json" '
  FILENAME != manifest {
    if ($2 == "name") name = $4
    if ($2 == "version") version[name] = $4
    next
  }
  $4 == "workspace:*" {
    if (!($2 in version)) { print $2 " is not packed yet" > "/dev/stderr"; exit 1 }
    sub(/workspace:\*/, version[$2])
  }
  { print }
' $manifests "packages/$package/package.json" > "dist/$package/package.json"

sum=$(cksum < "packages/$package/package.json")
awk -F '"' -v sum="${sum%% *}" '
  $2 == "name" { name = $4 }
  $2 == "version" { print name, $4, sum }
  /^    / && $4 != "workspace:*" { print $2, $4 }
' "packages/$package/package.json" > "dist/$package/own.txt"
LC_ALL=C sort -u -o "dist/$package/installs.txt" "dist/$package/own.txt" $installs
rm "dist/$package/own.txt"
