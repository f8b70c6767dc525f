# Agents: a review of the requirements, a plan, parts that are made side by side, a loop of
# tests and fixes, and a report. The agents are stand-ins: agent.sh does for each role what a
# coding agent would do, always the same. README.md of the project has the blocks of real ones.
#
#   runner -C examples/agents build PRD-007                     the review says do_not_ship
#   runner -C examples/agents override PRD-007 review --reason "the length is limited later"
#   runner -C examples/agents build PRD-007 --resume            the loop takes three iterations
#   runner -C examples/agents checkpoint show PRD-007 latest
#
# Change a label or the text of issue.json before a resume, and see what Runner says.

pipeline "PRD-007" {
  title    = "Names of pages"
  document = "docs/PRD-007.md"

  issue {
    file   = "issue.json"
    labels = { plan = "state:plan", implement = "state:implementing" }
  }

  review {
    command = ["sh", "agent.sh", "reviewer"]
  }

  agent "architect" {
    role    = "architect"
    command = ["sh", "agent.sh", "architect"]
  }
  agent "implementer" {
    role    = "implementer"
    command = ["sh", "agent.sh", "implementer"]
  }
  agent "fixer" {
    role    = "fixer"
    command = ["sh", "agent.sh", "fixer"]
  }
  agent "writer" {
    role    = "writer"
    command = ["sh", "agent.sh", "writer"]
  }

  budget { max_tokens = 100000 }

  phase "plan" {
    workstream "outline" {
      agent     = agent.architect
      task      = "Divide what docs/PRD-007.md asks for into parts."
      inputs    = ["docs/PRD-007.md"]
      artifacts = ["out/plan.txt"]
    }
  }

  phase "implement" {
    # Each part is a filter of its own, so that three agents can work at once.
    workstream "part" {
      for_each  = toset(["letters", "signs", "length"])
      agent     = agent.implementer
      task      = "Write the part ${each.key} of out/plan.txt."
      inputs    = ["out/plan.txt"]
      artifacts = ["out/parts/${each.key}.txt"]
      env       = { PART = each.key }
    }
  }

  phase "test-and-fix" {
    repeat { max = 5 }

    workstream "program" {
      agent     = agent.fixer
      task      = "Put the parts together, and fix what the tests found."
      inputs    = ["out/parts/*.txt"]
      artifacts = ["out/page-name.sh", "out/fixes.txt"]
    }
    workstream "tests" {
      depends_on = [workstream.program]
      command    = ["sh", "tests.sh", "out/page-name.sh"]
      inputs     = ["tests.sh", "out/page-name.sh"]
    }
  }

  phase "report" {
    workstream "summary" {
      agent     = agent.writer
      task      = "Say what was made, in a page."
      inputs    = ["out/plan.txt", "out/fixes.txt"]
      artifacts = ["out/report.md"]
    }
  }
}
