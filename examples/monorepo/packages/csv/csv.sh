## package csv
# csv_column FILE N prints a column of a file of comma-separated values.
csv_column() { while IFS= read -r line; do trim_both "$(split_field "$line" , "$2")"; done < "$1"; }
