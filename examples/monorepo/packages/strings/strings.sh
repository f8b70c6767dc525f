## package strings
# strings_upper TEXT prints a text in capitals.
strings_upper() { printf '%s\n' "$1" | tr '[:lower:]' '[:upper:]'; }
# strings_longer A B prints the longer of two texts.
strings_longer() { if [ "$(chars_count "$1")" -ge "$(chars_count "$2")" ]; then echo "$1"; else echo "$2"; fi; }
