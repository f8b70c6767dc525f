# Files that can't be included. What may follow from that is not reported. Must give, by line:
# 12: Path outside the workspace
# 13: Invalid glob
# 14: Invalid glob
# 15: Include that matches nothing
# 16: Cannot read included file
# 17: Pipeline in an included file
# broken/nested.hcl 1: Include in an included file
# broken/nested.hcl 2: Unsupported block type
# broken/syntax.hcl 1: Missing item separator
include = [
  "../common/*.hcl",
  "common/**.hcl",
  "!common/go.hcl",
  "commons/*.hcl",
  "common/none.hcl",
  "broken/pipeline.hcl",
  "broken/syntax.hcl",
  "broken/nested.hcl",
]
pipeline "PRD-001" {
  phase "a" {
    workstream "w" {
      command = ["true", var.unknown]
    }
  }
}
