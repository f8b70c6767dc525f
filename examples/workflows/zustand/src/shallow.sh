# Comparing lists of words.

# shallow_within LIST OTHER tells whether each word of a list is in the other one, too.
shallow_within() {
  for shallow_word in $1; do
    case " $2 " in
    *" $shallow_word "*) ;;
    *) return 1 ;;
    esac
  done
}

# shallow_equal LIST OTHER tells whether two lists have the same words, in whatever order.
shallow_equal() {
  shallow_within "$1" "$2" && shallow_within "$2" "$1"
}
