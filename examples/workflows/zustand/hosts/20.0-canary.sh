# A host that keeps what is rendered in a file.
rendered_in=$(mktemp)
trap 'rm -f "$rendered_in"' EXIT

render() {
  echo "$1 is $2" >> "$rendered_in"
}

flush() {
  cat "$rendered_in"
  : >| "$rendered_in"
}
