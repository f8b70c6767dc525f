## package pad
# pad_right TEXT WIDTH prints a text with blanks behind it, up to a width.
pad_right() { printf '%s' "$1"; chars_repeat ' ' $(($2 - ${#1})); }
