# Joins sequences whose ends overlap in at least twelve bases, each with at most one other one,
# and prints them, the longest first. Sequences within another one are left out. The number of
# joins goes to a file as an output.
#
#   awk -v outputs=FILE -f assemble.awk SEQUENCES.fa

/^>/ { next }
{ sequence[++n] = $0 }

END {
  for (i = 1; i <= n; i++)
    for (j = 1; j <= n && !(i in gone); j++)
      if (i != j && !(j in gone) && index(sequence[j], sequence[i])) gone[i] = 1
  for (i = 1; i <= n; i++) if (!(i in gone)) join_best(i)
  for (i = 1; i <= n; i++) if (!(i in gone)) add(sequence[i])
  for (i = 1; i <= kept; i++) print ">" i "\n" sorted[i]
  print "joined=" joined + 0 >> outputs
}

# join_best appends to a sequence the one that overlaps its end the most.
function join_best(i,    j, overlap, most, best) {
  most = 11
  for (j = 1; j <= n; j++) {
    if (i == j || (j in gone) || (j in whole)) continue
    for (overlap = length(sequence[i]); overlap > most; overlap--)
      if (substr(sequence[i], length(sequence[i]) - overlap + 1) == substr(sequence[j], 1, overlap)) {
        most = overlap
        best = j
      }
  }
  if (!best) return
  sequence[i] = sequence[i] substr(sequence[best], most + 1)
  gone[best] = whole[i] = 1
  joined++
}

# add inserts a sequence into those that are sorted.
function add(s,    i) {
  for (i = ++kept; i > 1 && before(s, sorted[i - 1]); i--) sorted[i] = sorted[i - 1]
  sorted[i] = s
}

function before(s, t) { return length(s) > length(t) || length(s) == length(t) && s < t }
