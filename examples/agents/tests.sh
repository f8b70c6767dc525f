# Tests the program that makes the name of a page of its title. It ends at the first
# failure, as a real test suite might not.

expect() {
  got=$(sh "$program" "$2")
  if [ "$got" != "$3" ]; then
    echo "$1: the name of \"$2\" is \"$got\" instead of \"$3\""
    exit 1
  fi
}

program=$1
expect letters "Hello World" "hello-world"
expect end "What now?" "what-now"
expect begin "(Draft) Plan" "draft-plan"
expect length "A title that is far too long for a name" "a-title-that-is-far-too"
