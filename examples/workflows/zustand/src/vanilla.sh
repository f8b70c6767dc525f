# The store: values with names, and functions that hear of changes.
store_subscribers=${store_subscribers-}

# store_set NAME VALUE changes a value, and calls each subscriber with both.
store_set() {
  eval "store_value_$1=\$2"
  for store_subscriber in $store_subscribers; do
    "$store_subscriber" "$1" "$2"
  done
}

# store_get NAME prints a value.
store_get() {
  if eval "[ -n \"\${store_value_$1+set}\" ]"; then
    eval "printf '%s\n' \"\$store_value_$1\""
  elif [ "${MODE-}" = development ]; then
    echo "nobody has set $1" >&2
  fi
}

# store_subscribe FUNCTION has a function called after each change.
store_subscribe() {
  store_subscribers="$store_subscribers $1"
}
