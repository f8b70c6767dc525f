package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// foreignName is a name that other tools use, and what to write here instead.
type foreignName struct {
	names string // separated by spaces
	means string // the argument or block of this language; "" if there is none
	write string
}

// foreignNames are names from make, Taskfile, Terraform and CI systems. They include
// names of this language that people write in the wrong block.
func foreignNames() []foreignName {
	return []foreignName{
		{"needs dependencies depends dependsOn requires after deps", "depends_on", `a workstream waits for others with depends_on = [workstream.NAME]`},
		{"outputs output produces generates outs creates", "artifacts", `the files that a workstream makes are artifacts = ["PATH"]`},
		{"sources source srcs reads watch", "inputs", `the files that a workstream reads are inputs = ["GLOB"]`},
		{"count matrix strategy foreach forEach", "for_each", `a workstream has several instances with for_each = toset(["a", "b"]), and each.key names one`},
		{"parallel parallelism concurrency max_concurrent", "max_parallel", `a phase has max_parallel = 2; for all of a run it is the flag --parallel`},
		{"environment environ envs variables vars", "env", `a process has env = { NAME = "value" }; what the user sets is a block variable "NAME" {} at file level`},
		{"run runs cmd cmds exec commands scripts bash sh", "script", `a workstream or gate has script = "TEXT" for a shell, or command = ["PROGRAM", "ARGUMENT"] without one`},
		{"step steps task tasks job jobs target targets", "workstream", `a unit of work is a block workstream "NAME" {} in a phase`},
		{"stage stages", "phase", `a stage is a block phase "NAME" {} in the pipeline`},
		{"check checks assert test tests", "gate", `what must hold is a block gate "NAME" {} in a workstream or phase`},
		{"manual approve confirm", "approval", `a person is asked by gate "NAME" { approval { message = "TEXT" } }`},
		{"if unless only rules", "when", `a workstream or phase is skipped where when = CONDITION is false`},
		{"retries max_attempts max_retries", "retry", `a failed attempt is repeated with a block retry { attempts = 3 }`},
		{"working_directory working-directory workdir working_dir cwd", "dir", `a process runs in dir = "PATH"`},
		{"timeout_minutes timeout-minutes timeout_seconds deadline", "timeout", `a time limit is timeout = "10m"`},
		{"event events", "on", `a hook runs after on = ["failed", "complete"]`},
		{"backup snapshot rollback transaction", "protect", `what a workstream changes, and must be taken back if it fails, is named by a block protect { scope = ["GLOB"] }`},
		{"worktree work_tree isolation sandbox", "isolate", `an attempt that runs in a work tree of its own has a block isolate { from = "git" }`},
		{"name", "", `the name stands behind the kind of block, in quotes; what people read is title = "TEXT"`},
		{"image container docker", "", `processes run on this machine; what runs in a container is started by command = ["docker", "run", …]`},
		{"continue_on_error continue-on-error ignore_errors allowFailure", "allow_failure", `the failure of a workstream is allowed with allow_failure = true`},
		{"fail-fast failFast keep_going", "fail_fast", `with fail_fast = false, a failure does not keep other workstreams from starting`},
		{"on_failure finally trigger_rule runOn", "run_on", `a workstream that runs after a failure has run_on = "failed", or "always", and names in depends_on what may fail`},
		{"include import imports includes extends module modules", "", `variables, locals, shared gates and agents of other files are included with include = ["common/*.hcl"], at the top of the file`},
		{"variable locals pipeline", "", `this block stands at file level, outside of any other`},
		{"phase", "", `a phase stands directly in the pipeline block`},
		{"workstream", "", `a workstream stands in a phase, and a phase in the pipeline block`},
		{"gate", "", `a gate stands in a workstream or in a phase, and at file level where workstreams share it`},
		{"depends_on allow_failure inputs artifacts for_each effect verify on_gate_failure cache mutates", "", `this is an argument of a workstream`},
		{"command script", "", `this is an argument of a workstream, a gate or a hook`},
		{"on", "", `this is an argument of a hook, which stands in the pipeline block`},
		{"retry", "", `what is repeated is said in a block, retry { attempts = 3 }, of a workstream, a hook or defaults`},
		{"max_parallel", "", `this is an argument of a phase`},
		{"protect", "", `a protect block stands in a workstream`},
		{"isolate", "", `an isolate block stands in a workstream`},
		{"scope savepoints strict_scope", "", `this is an argument of the protect block of a workstream`},
		{"defaults", "", `a defaults block stands directly in the pipeline block or in a phase`},
		{"document hook savepoint secret", "", `this stands directly in the pipeline block`},
	}
}

// findForeign returns the entry for a name, or false.
func findForeign(name string) (foreignName, bool) {
	all := foreignNames()
	i := slices.IndexFunc(all, func(f foreignName) bool { return slices.Contains(strings.Fields(f.names), name) })
	if i < 0 {
		return foreignName{}, false
	}
	return all[i], true
}

// explainForeign adds to the diagnostics of a body what to write instead of names of
// other tools.
func explainForeign(diags hcl.Diagnostics, body *hclsyntax.Body) {
	for _, diag := range diags {
		name := ""
		switch diag.Summary {
		case "Unsupported argument":
			for _, attr := range body.Attributes {
				if diag.Subject != nil && attr.NameRange == *diag.Subject {
					name = attr.Name
				}
			}
		case "Unsupported block type":
			for _, block := range body.Blocks {
				if diag.Subject != nil && block.TypeRange == *diag.Subject {
					name = block.Type
				}
			}
		}
		if f, ok := findForeign(name); ok {
			diag.Detail = fmt.Sprintf("%q is not expected here: %s.", name, f.write)
		}
	}
}

// nameExpected adds to the diagnostics of a body which names its schema has, where hcl names none.
func nameExpected(diags hcl.Diagnostics, schema *hcl.BodySchema) {
	for _, diag := range diags {
		if !strings.HasSuffix(diag.Detail, " not expected here.") {
			continue
		}
		var kind string
		var names []string
		switch diag.Summary {
		case "Unsupported argument":
			kind = "arguments"
			for _, a := range schema.Attributes {
				names = append(names, a.Name)
			}
		case "Unsupported block type":
			kind = "blocks"
			for _, b := range schema.Blocks {
				names = append(names, b.Type)
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			diag.Detail += fmt.Sprintf(" The %s here are: %s.", kind, strings.Join(slices.Compact(names), ", "))
		}
	}
}

// translated returns a block under its name in this language, if the schema has a block
// of that name with as many labels, and nil otherwise. The decoder then checks the
// content of the block too, so that all mistakes are reported at once.
func translated(block *hclsyntax.Block, schema *hcl.BodySchema) *hclsyntax.Block {
	f, ok := findForeign(block.Type)
	if !ok || f.means == "" {
		return nil
	}
	meant := *block
	meant.Type = f.means
	if !declaresBlock(&meant, schema) {
		return nil
	}
	return &meant
}

// saidUnderOtherName reports whether a body holds a required argument or block under the
// name that another tool uses for it.
func saidUnderOtherName(body *hclsyntax.Body, means string) bool {
	says := func(name string) bool {
		f, ok := findForeign(name)
		return ok && f.means == means
	}
	for name := range body.Attributes {
		if says(name) {
			return true
		}
	}
	return slices.ContainsFunc(body.Blocks, func(block *hclsyntax.Block) bool { return says(block.Type) })
}
