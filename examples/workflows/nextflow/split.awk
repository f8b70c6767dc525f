# Writes each sequence of assemblies to a file of its own: GROUP.1.fa, GROUP.2.fa, …
#
#   awk -v into=DIRECTORY -f split.awk ASSEMBLY.fa...

FNR == 1 { group = FILENAME; sub(/.*\//, "", group); sub(/\.fa$/, "", group) }
/^>/ {
  if (file) close(file)
  name = group "." substr($0, 2)
  file = into "/" name ".fa"
  print ">" name > file
  next
}
{ print > file }
