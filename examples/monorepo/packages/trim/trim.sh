## package trim
# trim_both TEXT prints a text without the blanks around it.
trim_both() { printf '%s\n' "$1" | sed 's/^ *//; s/ *$//'; }
