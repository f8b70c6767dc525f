# Indexes sorted reads: how many there are, and for each hundred positions the first and the
# last line with a read that begins there.
#
#   awk -f scripts/index.awk SORTED.sam

BEGIN { FS = OFS = "\t" }
/^@/ { next }
{ reads++; bin = int($4 / 100); if (!(bin in first)) { first[bin] = NR; bins[++n] = bin } last[bin] = NR }
END {
  print "reads", reads + 0
  for (i = 1; i <= n; i++) print bins[i] * 100, first[bins[i]], last[bins[i]]
}
