# A host that collects what is rendered, but not the same twice in a row.
rendered=
render() {
  case $rendered in
  *"$1 is $2
") ;;
  *)
    rendered="$rendered$1 is $2
"
    ;;
  esac
}

flush() {
  printf '%s' "$rendered"
  rendered=
}
