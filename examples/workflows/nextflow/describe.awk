# Prints the name of a sequence, its length, and how much of it is G or C.
#
#   awk -f describe.awk CONTIG.fa

/^>/ { name = substr($0, 2); next }
{ length_of += length($0); gc += gsub(/[GC]/, "") }
END { printf "%s\t%d\t%.2f\n", name, length_of, gc / length_of }
