## package chars
# chars_count TEXT prints how many characters a text has.
chars_count() { printf '%d\n' "${#1}"; }
# chars_repeat TEXT N prints a text N times, without a line break.
chars_repeat() { awk -v t="$1" -v n="$2" 'BEGIN { while (n-- > 0) printf "%s", t }'; }
