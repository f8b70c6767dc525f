# Prints how many packages an install of each brings, of the repository and of others:
# sh tools/table.sh PACKAGE …
set -eu
for package; do
  awk -v package="$package" 'NF == 3 { own++ } NF == 2 { others++ } END { print package, own + 0, others + 0 }' "dist/$package/installs.txt"
done
