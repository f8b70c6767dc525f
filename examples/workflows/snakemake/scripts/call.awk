# Calls variants over all samples: the positions at which the reads of a sample speak more for
# another base than for that of the reference, given how seldom a base changes.
#
#   awk -v rate=RATE -f scripts/call.awk GENOME.fa SORTED.sam... SORTED.sam.index...
#
# A base of quality q is wrong with the probability 10^(-q/10).

BEGIN { FS = OFS = "\t"; for (i = 33; i < 127; i++) quality[sprintf("%c", i)] = i - 33 }

FNR == NR && /^>/ { chromosome = substr($0, 2); next }
FNR == NR && /^;/ { next }
FNR == NR { genome = genome $0; next }

FILENAME ~ /\.index$/ {
  file = substr(FILENAME, 1, length(FILENAME) - length(".index"))
  if ($1 == "reads" && $2 != reads[file]) stop(FILENAME " has " $2 " reads, and " file " has " reads[file])
  next
}
/^@/ { reads[FILENAME] = 0; files[++samples] = FILENAME; names[samples] = substr($2, 4); next }
{ reads[FILENAME]++ }
$2 == 0 {
  for (i = 1; i <= length($5); i++) {
    wrong = 10 ^ (-quality[substr($6, i, 1)] / 10)
    at = $4 + i - 1
    base = substr($5, i, 1)
    speaks[FILENAME, at, base] += log((1 - wrong) / (wrong / 3))
  }
}

END {
  if (failed) exit 1
  print "#CHROM", "POS", "REF", "ALT", "QUAL", "SAMPLES"
  for (at = 1; at <= length(genome); at++)
    for (i = 1; i <= 4; i++) call(at, substr(genome, at, 1), substr("ACGT", i, 1))
}

# call prints a variant if a sample has it. Its quality is that of the sample that speaks the
# most for it.
function call(at, reference, base,    i, score, best, having) {
  for (i = 1; i <= samples; i++) {
    score = speaks[files[i], at, base] - speaks[files[i], at, reference] + log(rate / (1 - rate))
    if (score > best) best = score
    if (score > 0) having = having (having == "" ? "" : ",") names[i]
  }
  if (base != reference && having != "")
    printf "%s\t%d\t%s\t%s\t%.1f\t%s\n", chromosome, at, reference, base, 10 * best / log(10), having
}

function stop(message) {
  print message > "/dev/stderr"
  failed = 1
  exit 1
}
