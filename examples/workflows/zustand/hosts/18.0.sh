# A host that shows at once what is rendered.
render() {
  echo "$1 is $2"
}
