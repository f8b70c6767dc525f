# Shows values of the store in a host, which has a function "render".
. "$STORE/vanilla.sh"
. "$STORE/shallow.sh"

# use_store NAMES renders these values, and again those of them that change.
use_store() {
  react_names=$1
  for react_name in $1; do
    react_value=$(store_get "$react_name")
    render "$react_name" "$react_value"
  done
  react_flush
  store_subscribe react_changed
}

react_changed() {
  if shallow_within "$1" "$react_names"; then
    render "$1" "$2"
    react_flush
  fi
}

# Since version 19 a host collects what it renders.
react_flush() {
  if command -v flush > /dev/null; then
    flush
  fi
}
