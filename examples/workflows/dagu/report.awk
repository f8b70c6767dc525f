# Prints the sums of totals.csv for people: awk -F , -v month=2026-10 -f report.awk out/totals.csv
BEGIN { print "Sales of " month }
{ printf "%-10s %10.2f\n", $1, $2; all += $2 }
END { printf "%-10s %10.2f\n", "all", all }
