# Prints the name of a sequence and its longest open reading frame, as a protein.
#
#   awk -f translate.awk CONTIG.fa

BEGIN { acids = "KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF" }
/^>/ { name = substr($0, 2); next }
{ bases = bases $0 }
END {
  for (frame = 1; frame <= 3; frame++) {
    open = ""
    for (at = frame; at + 2 <= length(bases); at += 3) {
      acid = substr(acids, number(substr(bases, at, 3)) + 1, 1)
      open = acid == "*" ? "" : open acid
      if (length(open) > length(longest)) longest = open
    }
  }
  print name "\t" longest
}

# number is the place of a codon among all, in alphabetical order.
function number(codon,    i, n) {
  for (i = 1; i <= 3; i++) n = 4 * n + index("ACGT", substr(codon, i, 1)) - 1
  return n
}
