# Prints each order as CUSTOMER,ORDER,EUROS, if its article has a price. A price whose currency has no rate is
# an error: awk -F , -f merge.awk out/rates.csv out/prices/table.csv out/orders/table.csv
FILENAME == ARGV[1] { rate[$1] = $2; next }
FILENAME == ARGV[2] { price[$1] = $3; currency[$1] = $4; next }
!($4 in price) { next }
!(currency[$4] in rate) { print FILENAME ":" FNR ": no rate of " currency[$4] > "/dev/stderr"; exit 1 }
{ printf "%s,%s,%.2f\n", $3, $1, $5 * price[$4] * rate[currency[$4]] }
