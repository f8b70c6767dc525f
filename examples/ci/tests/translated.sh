# Each line has a phrase and its translation.
set -e
for file in src/*.txt; do
  awk -v file="$file" '!/^.+ = .+$/ { printf "%s:%d: error: no translation\n", file, NR; bad = 1 } END { exit bad }' "$file"
done
