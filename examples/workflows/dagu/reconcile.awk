# Prints each customer of totals.csv who has not paid the sum there, according to ledger.csv, with what
# is open: awk -f reconcile.awk data/ledger.csv out/totals.csv. With -v strict=1 it fails if there is one.
BEGIN { FS = "," }
/^#/ { next }
FNR == NR { paid[toupper($1)] = $2; next }
$2 != paid[$1] + 0 { printf "%s,%.2f\n", $1, $2 - paid[$1]; open = 1 }
END { exit strict && open }
