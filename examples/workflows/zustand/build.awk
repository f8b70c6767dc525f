# Prints an entry of the library without comments: in the format esm as it is, in the format
# cjs with the entries that it needs in their places.
#
#   awk -v format=FORMAT -v entry=ENTRY -f build.awk

BEGIN { add(entry) }

function add(entry,    file, got, line) {
  if (entry in added) return
  added[entry] = 1
  file = "src/" entry ".sh"
  while ((got = (getline line < file)) > 0) {
    if (line ~ /^#/) continue
    if (format == "cjs" && line ~ /^\. "\$STORE\/.*\.sh"$/) {
      add(substr(line, 11, length(line) - 14))
    } else {
      print line
    }
  }
  close(file)
  if (got < 0) {
    print file " cannot be read" > "/dev/stderr"
    exit 1
  }
}
