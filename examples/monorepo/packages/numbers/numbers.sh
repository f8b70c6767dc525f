## package numbers
# numbers_max A B prints the greater of two whole numbers.
numbers_max() { if [ "$1" -gt "$2" ]; then echo "$1"; else echo "$2"; fi; }
# numbers_is TEXT succeeds if a text is a whole number.
numbers_is() { case $1 in '' | *[!0-9]*) return 1 ;; esac; }
