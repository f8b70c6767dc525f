# The text of a message: what happened, what failed, what is asked, and what to type next.
[
  "\(.prd) \(.title): \(.event)",
  (.failures[] | "- \(.gate // .workstream): \(if .file then "\(.file):\(.line): " else "" end)\(.message)"),
  (.waits.gates // [] | .[] | "- \(.gate): \(.message // "to be reviewed")"),
  (.next[] | "    \(.)")
] | join("\n")
