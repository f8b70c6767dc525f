# Sums up what customers have ordered, in the order of their first lines: awk -F , -f totals.awk out/merged.csv
{ if (!($1 in sum)) customer[++n] = $1; sum[$1] += $3 }
END { for (i = 1; i <= n; i++) printf "%s,%.2f\n", customer[i], sum[customer[i]] }
