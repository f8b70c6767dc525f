## package lists
# lists_length ITEM... prints how many items there are.
lists_length() { echo "$#"; }
# lists_last ITEM... prints the last one.
lists_last() { for item; do :; done; printf '%s\n' "$item"; }
