# Applies the migrations that a database does not have yet: sh migrate.sh DIRECTORY
set -eu
has=$(cat "$1/schema.txt")
[ "$has" -ge 0 ] # fails if it is no number, which an if would pass over
for migration in migrations/*.awk; do
  number=$(expr "${migration##*/}" : "0*\([0-9]*\)_")
  if [ "$number" -gt "$has" ]; then
    awk -f "$migration" "$1/orders.csv" > "$1/orders.new"
    mv "$1/orders.new" "$1/orders.csv"
    echo "$number" > "$1/schema.txt"
  fi
done
