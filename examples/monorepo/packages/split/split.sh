## package split
# split_field TEXT SEPARATOR N prints the Nth field of a text.
split_field() { printf '%s\n' "$1" | cut -d "$2" -f "$3"; }
