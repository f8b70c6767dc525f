# Mistakes in included files. Must give, by line:
# broken/duplicates.hcl 1: Duplicate variable
# broken/duplicates.hcl 2: Duplicate local
# broken/duplicates.hcl 3: Duplicate gate
# broken/duplicates.hcl 4: Duplicate agent name
# broken/values.hcl 3: Invalid default value for variable
# broken/values.hcl 5: Unknown local
# broken/values.hcl 6: Invalid gate
# broken/values.hcl 7: Unsupported argument
# broken/values.hcl 9: Duplicate agent name
# broken/values.hcl 10: Artifact read before it is made
include = ["broken/{values,duplicates}.hcl"]

variable "name" { default = "a" }
locals { label = "a" }
gate "lint" { command = ["true"] }
agent "writer" { command = ["true"] }

pipeline "PRD-001" {
  phase "a" {
    workstream "w" {
      agent = agent.writer
      task  = "Write."
      gates = [gate.lint, gate.check, gate.reads]
    }
    workstream "x" {
      command   = ["make"]
      artifacts = ["out/made"]
    }
  }
}
