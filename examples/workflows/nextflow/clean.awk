# Prints the reads of a FASTQ file as FASTA, without those that are doubtful: more than a
# quarter of their bases have the lowest quality.
#
#   awk -f clean.awk READS.fastq

FNR % 4 == 1 { name = substr($0, 2) }
FNR % 4 == 2 { bases = $0 }
FNR % 4 == 0 {
  if (length($0) != length(bases)) stop(name " has " length(bases) " bases and " length($0) " qualities")
  if (gsub(/#/, "") * 4 <= length(bases)) print ">" name "\n" bases
}
END { if (!stopped && FNR % 4 != 0) stop("the last read is cut off") }

function stop(message) {
  print FILENAME ":" FNR ": " message > "/dev/stderr"
  stopped = 1
  exit 1
}
