# A host that shows at once what is rendered, and warns of a value without a name.
render() {
  [ -n "$1" ] || echo "a value has no name: $2" >&2
  echo "$1 is $2"
}
