# Maps reads to a reference: finds twelve bases of the read in the reference, and accepts the
# place where the read differs from it the least, in at most four bases.
#
#   awk -v sample=NAME -f scripts/map.awk GENOME.fa READS.fastq
#
# Prints a line for the sample and one for each read: name, 0 (or 4 if it has no place),
# chromosome, position, bases, qualities.

BEGIN { FS = OFS = "\t"; seed = 12; print "@RG", "ID:" sample, "SM:" sample }

FNR == NR && /^>/ { chromosome = substr($0, 2); next }
FNR == NR && /^;/ { next }
FNR == NR { genome = genome $0; next }

FNR == 1 { for (at = 1; at <= length(genome) - seed + 1; at++) places[substr(genome, at, seed)] = places[substr(genome, at, seed)] " " at }
FNR % 4 == 1 { name = substr($0, 2) }
FNR % 4 == 2 { bases = $0 }
FNR % 4 == 0 {
  if (length($0) != length(bases)) {
    print FILENAME ":" FNR ": " name " has " length(bases) " bases and " length($0) " qualities" > "/dev/stderr"
    exit 1
  }
  at = place(bases)
  if (at) print name, 0, chromosome, at, bases, $0
  else print name, 4, "*", 0, bases, $0
}

# place returns the position of a read in the genome, or 0.
function place(bases,    start, n, i, list, at, wrong, best, least) {
  least = 5
  for (start = 1; start <= length(bases) - seed + 1; start += seed) {
    n = split(places[substr(bases, start, seed)], list, " ")
    for (i = 1; i <= n; i++) {
      at = list[i] - start + 1
      wrong = differences(bases, at, least)
      if (at > 0 && wrong < least) { best = at; least = wrong }
    }
  }
  return best + 0
}

# differences counts the bases that differ at a position, up to a limit.
function differences(bases, at, limit,    i, n) {
  for (i = 1; i <= length(bases) && n < limit; i++)
    if (substr(bases, i, 1) != substr(genome, at + i - 1, 1)) n++
  return n + 0
}
