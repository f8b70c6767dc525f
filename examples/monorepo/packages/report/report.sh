## package report
# report_of TITLE NUMBER... prints a heading, and numbers with their mean.
report_of() { style_title "$1"; shift; table_row "$@"; table_row mean "$(average_of "$@")"; }
