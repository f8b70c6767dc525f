# Draws the qualities of variants: a bar for each.
#
#   awk -f scripts/plot.awk CALLS.vcf

BEGIN { FS = "\t"; print "<svg xmlns=\"http://www.w3.org/2000/svg\" font-size=\"10\">" }
/^#/ { next }
{
  y = 15 * n++
  printf "<text y=\"%d\">%s:%d %s→%s</text><rect x=\"90\" y=\"%d\" width=\"%.1f\" height=\"10\"/>\n", y + 10, $1, $2, $3, $4, y, $5 / 10
}
END { print "</svg>" }
