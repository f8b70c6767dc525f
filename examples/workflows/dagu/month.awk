# Prints the last month of orders as an output: awk -F , -f month.awk data/orders.csv
NR > 1 && substr($2, 1, 7) > month { month = substr($2, 1, 7) }
END { if (month == "") exit 1; print "month=" month }
