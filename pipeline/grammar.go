package pipeline

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/functions"
)

// Body says what may stand in a block, for editors.
type Body struct {
	Arguments []string // sorted
	Required  []string // those of the arguments without which the block is a mistake
	Blocks    []Nested // sorted by type
}

// Nested is a block that may stand in another one.
type Nested struct {
	Type   string
	Labels []string // what each label is, such as name
}

// BodyOf returns what may stand in a block, given its type, "" for the top of a file. It reports false if there is no
// such block, or if its arguments can have any names, as those of locals.
func BodyOf(blockType string) (Body, bool) {
	schema := schemaOf(blockType)
	if schema == nil {
		return Body{}, false
	}
	var b Body
	for _, a := range schema.Attributes {
		b.Arguments = append(b.Arguments, a.Name)
		if a.Required {
			b.Required = append(b.Required, a.Name)
		}
	}
	for _, block := range schema.Blocks {
		b.Blocks = append(b.Blocks, Nested{block.Type, block.LabelNames})
	}
	slices.Sort(b.Arguments)
	slices.SortFunc(b.Blocks, func(x, y Nested) int { return strings.Compare(x.Type, y.Type) })
	return b, true
}

// schemaOf returns the schema of a block. A block has the same one wherever it stands.
func schemaOf(blockType string) *hcl.BodySchema {
	switch blockType {
	case "":
		return fileSchema
	case "agent":
		return agentSchema
	case "approval":
		return approvalSchema
	case "budget":
		return budgetSchema
	case "call":
		return callSchema
	case "defaults":
		return defaultsSchema
	case "gate":
		return gateSchema
	case "hook":
		return hookSchema
	case "input":
		return inputSchema
	case "isolate":
		return isolateSchema
	case "issue":
		return issueSchema
	case "phase":
		return phaseSchema
	case "pipeline":
		return pipelineSchema
	case "protect":
		return protectSchema
	case "ready":
		return readySchema
	case "repeat":
		return repeatSchema
	case "restart", "retry":
		return retrySchema
	case "review":
		return reviewSchema
	case "savepoint":
		return savepointSchema
	case "secret":
		return secretSchema
	case "service":
		return serviceSchema
	case "validation":
		return validationSchema
	case "variable":
		return variableSchema
	case "workstream":
		return workstreamSchema
	}
	return nil
}

// Words returns the words of which the value of an argument is one, or a list of some. It reports false if the argument takes
// other values.
func Words(block, argument string) (words []string, ok bool) {
	switch block + "." + argument {
	case "workstream.effect", "defaults.effect":
		return texts(Idempotent, Pure, Once), true
	case "workstream.run_on", "phase.run_on":
		return texts(RunOnSucceeded, RunOnFailed, RunOnAlways), true
	case "workstream.on_gate_failure":
		return []string{"judge", "rerun"}, true
	case "workstream.report":
		return []string{"file", "stdout"}, true
	case "agent.task":
		return texts(TaskOnStdin, TaskInFile), true
	case "savepoint.driver":
		return texts(Postgres, MySQL, SQLite), true
	case "savepoint.method":
		return texts(SaveDump, SaveTemplate), true
	case "service.scope":
		return texts(ServicePipeline, ServicePhase), true
	case "isolate.from":
		return texts(IsolateCopy, IsolateGit), true
	case "protect.on_failure":
		return []string{"rollback", "keep"}, true
	case "hook.on":
		return texts(HookComplete, HookFailed, HookPaused, HookInterrupted), true
	case "review.do_not_ship", "review.ship_with_gates":
		return []string{"p0", "p1", "p2", "p3"}, true
	}
	return nil, false
}

func texts[T ~string](words ...T) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return all
}

// NamesFiles reports whether the texts in an argument, or in the call of a function, name files; either may be "".
func NamesFiles(argument, function string) bool {
	switch argument {
	case "inputs", "artifacts", "include", "exclude", "scope", "document", "dir", "env_file", "file", "findings", "command":
		return true
	}
	switch function {
	case "file", "filebase64", "fileexists", "fileset", "filesha256", "templatefile":
		return true
	}
	return false
}

// Functions returns the functions of the language by their names, for editors.
func Functions() map[string]function.Function {
	standard := functions.Standard()
	all := (&files.Workspace{}).Functions(standard, nil)
	for name, f := range standard {
		all[name] = f
	}
	return all
}

// Reference is a place in a file that names a declaration, for editors.
type Reference struct {
	Kind      string // as in Symbol
	Name      string
	NameRange hcl.Range
	Answer    bool // of a gate: the reference is to what a person gave as an input of its approval
}

// References lists the references of the file to its declarations, in source order. It leaves out those of files that it
// includes.
func (f *File) References() []Reference {
	if f.body == nil {
		return nil
	}
	var all []Reference
	var walk func(body *hclsyntax.Body)
	walk = func(body *hclsyntax.Body) {
		for _, attr := range body.Attributes {
			for _, ref := range findReferences(attr.Expr) {
				if r, ok := declaredBy(ref); ok {
					all = append(all, r)
				}
			}
		}
		for _, block := range body.Blocks {
			walk(block.Body)
		}
	}
	walk(f.body)
	slices.SortFunc(all, func(a, b Reference) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	return all
}

// Declares returns the kind of the declarations, as in Symbol, whose names follow the root of a reference, "" if a file declares
// none.
func Declares(root string) string {
	switch rootKinds[root] {
	case kindVar:
		return "variable"
	case kindLocal, kindWorkstream, kindAgent, kindGate, kindService, kindSavepoint, kindSecret:
		return root
	default: // no block declares it
		return ""
	}
}

// declaredBy returns a reference to something that a file declares.
func declaredBy(ref reference) (Reference, bool) {
	kind := Declares(ref.traversal.RootName())
	if kind == "" || ref.name == "" || len(ref.traversal) < 2 {
		return Reference{}, false
	}
	name := ref.traversal[1].SourceRange() // has the dot before the name
	name.Start.Byte++
	name.Start.Column++
	_, _, further := ref.attribute()
	return Reference{Kind: kind, Name: ref.name, NameRange: name, Answer: ref.kind == kindGate && further}, true
}
