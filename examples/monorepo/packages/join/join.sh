## package join
# join_with SEPARATOR ITEM... prints the items in one line.
join_with() { separator=$1; shift; printf '%s' "$1"; shift; for item; do printf '%s%s' "$separator" "$item"; done; echo; }
