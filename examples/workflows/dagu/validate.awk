# Checks that the rows of a table are there once and have all fields, and prints how many there are as an
# output: awk -F , -f validate.awk data/orders.csv out/orders/table.csv
FNR == NR { if (FNR == 1) fields = NF; next }
NF != fields || seen[$1]++ { print FILENAME ":" FNR ": not a row of its own with " fields " fields" > "/dev/stderr"; bad = 1 }
{ rows++ }
END { if (bad) exit 1; print "rows=" rows + 0 }
