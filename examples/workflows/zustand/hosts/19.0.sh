# A host that collects what is rendered, and shows it when it is asked to.
rendered=
render() {
  rendered="$rendered$1 is $2
"
}

flush() {
  printf '%s' "$rendered"
  rendered=
}
