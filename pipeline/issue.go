package pipeline

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"prdrunner/pipeline/suggest"
)

// issueTimeout bounds the command that prints the issue, since a build begins after it.
const issueTimeout = time.Minute

// issueBlock is the issue of a pipeline as the file has it.
type issueBlock struct {
	block   *hclsyntax.Block
	process process
	number  *argument
	file    *argument
	labels  *argument
	timeout *argument
}

var issueSchema = &hcl.BodySchema{
	Attributes: append(attributes(processAttributes...), attributes("number", "file", "labels", "timeout")...),
}

func (d *decoder) decodeIssue(block *hclsyntax.Block) *issueBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, issueSchema)
	i := &issueBlock{
		block:   block,
		process: d.decodeProcess(content, block.DefRange()),
		number:  d.argument(content, "number"),
		file:    d.argument(content, "file"),
		labels:  d.argument(content, "labels"),
		timeout: d.argument(content, "timeout"),
	}
	switch {
	case !i.process.exists() && i.file == nil && !i.onlyNamed() && !saidUnderOtherName(block.Body, "script"):
		d.report("Issue without a source", `An issue needs a "command" or a "script" that prints it, or "file", a file that holds it. Only a "number" that stands alone needs neither: it names the issue.`, block.DefRange())
	case i.process.exists() && i.file != nil:
		d.report("Issue with two sources", `Give either a process that prints the issue, or "file", but not both.`, i.file.nameRange)
	}
	return i
}

// onlyNamed reports whether the block has a number and nothing else, so that nothing is
// read.
func (i *issueBlock) onlyNamed() bool { return i.number != nil && len(i.block.Body.Attributes) == 1 }

// IssueNumber returns the number of the issue that the pipeline works on, 0 if the file
// does not say it. The number is known without the values of variables, and also in a file
// that has mistakes elsewhere.
func (f *File) IssueNumber() (int, *hcl.Diagnostic) {
	if f.pipeline == nil || f.pipeline.issue == nil {
		return 0, nil
	}
	return f.pipeline.issue.evalNumber()
}

// evalNumber evaluates the number, which depends on nothing.
func (i *issueBlock) evalNumber() (int, *hcl.Diagnostic) {
	if i.number == nil {
		return 0, nil
	}
	value, diags := i.number.expr.Value(nil)
	if !diags.HasErrors() && value.IsNull() {
		return 0, nil
	}
	problem := "must be a positive whole number"
	if diags.HasErrors() {
		problem = "must be a number such as 42, without variables and functions, since every command must know it before it has their values"
	} else if value, err := convert.Convert(value, cty.Number); err == nil && value.IsKnown() {
		if n, accuracy := value.AsBigFloat().Int64(); accuracy == big.Exact && n > 0 && n <= math.MaxInt32 {
			return int(n), nil
		}
	}
	return 0, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Invalid issue number", Detail: fmt.Sprintf("%q of an issue %s.", i.number.name, problem), Subject: i.number.exprRange().Ptr()}
}

// Issue is the issue of a tracker that the pipeline works on.
type Issue struct {
	Number  int    // 0: the file does not say it
	File    string // that holds the issue, relative to the workspace; "": a process prints it
	Timeout time.Duration
	Labels  []PhaseLabel // in the order of the phases
	Range   hcl.Range

	process *processDef
}

// PhaseLabel is the label that an issue has in a phase.
type PhaseLabel struct {
	Phase string
	Label string
}

// issueFrame returns the values that the process of the issue may use, which runs before
// everything else.
func issueFrame() frame { return frame{allow: kindVar | kindLocal | kindPipeline} }

func (b *builder) issue(block *issueBlock, defaults *defaultsDef) *Issue {
	if block == nil {
		return nil
	}
	fr := constantFrame(noEach)
	i := &Issue{
		File: b.evalPath(block.file, fr), Timeout: b.duration(block.timeout, fr), Range: block.block.DefRange(),
		process: b.newProcessDef(block.process, defaults),
	}
	if i.Timeout == 0 {
		i.Timeout = issueTimeout
	}
	i.Labels = b.phaseLabels(block.labels, fr)
	b.checkProcess(i.process, issueFrame())
	number, diag := block.evalNumber()
	if i.Number = number; diag != nil {
		b.addDiagnostics(hcl.Diagnostics{diag})
	}
	return i
}

// phaseLabels evaluates the labels of phases. It reports names that are no phase.
func (b *builder) phaseLabels(a *argument, fr frame) []PhaseLabel {
	if a == nil {
		return nil
	}
	value, ok := b.constant(a, fr, cty.Map(cty.String))
	if !ok {
		return nil
	}
	named := make(map[string]string, value.LengthInt())
	for name, label := range value.AsValueMap() {
		if text, err := toText(label); err == nil {
			named[name] = text
		}
	}
	var labels []PhaseLabel
	phases := make([]string, 0, len(b.phases))
	for _, phase := range b.phases {
		name := phase.block.name
		phases = append(phases, name)
		if label := named[name]; label != "" {
			labels = append(labels, PhaseLabel{Phase: name, Label: label})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !slices.Contains(phases, name) {
			b.errorf("Unknown phase", a.exprRange(), "%q in \"labels\" is not the name of a phase.%s", name, suggest.DidYouMean(name, slices.Values(phases)))
		}
	}
	return labels
}

// OnlyNamed reports whether the file has nothing but the number of the issue: neither a
// process nor a file tells more.
func (i *Issue) OnlyNamed() bool { return i.File == "" && !i.process.exists() }

// Invocation evaluates the process that prints the issue. ok is false if a file holds it.
func (i *Issue) Invocation() (inv Invocation, ok bool, diags hcl.Diagnostics) {
	if !i.process.exists() {
		return Invocation{}, false, nil
	}
	inv, diags = i.process.invocation(issueFrame())
	return inv, true, diags
}

// checkIssue checks that there is an issue, and that something reads what is referred to.
func (b *builder) checkIssue(ref reference, failed func(summary, detail string, args ...any) *hcl.Diagnostic) *hcl.Diagnostic {
	switch p := b.file.pipeline; {
	case p == nil || p.issue == nil:
		return failed("Missing issue block", `The pipeline has no issue block, so %s has no value. Write one into the pipeline block, such as issue { file = "issue.json" }.`, ref.source())
	case p.issue.onlyNamed() && ref.name != "number":
		return failed("Issue without a source", `The issue block has nothing but a "number", so nothing reads %s. Give it a "command", a "script" or a "file", too.`, ref.source())
	}
	return nil
}

// issueType is the type of the object `issue`.
var issueType = cty.Object(map[string]cty.Type{
	"number": cty.Number, "title": cty.String, "body": cty.String, "labels": cty.List(cty.String), "assignees": cty.List(cty.String),
})

// issueValue returns the object `issue`.
func issueValue(a *argument, results *Results) (cty.Value, hcl.Diagnostics) {
	switch {
	case results != nil && results.Issue != nil:
	case results == nil || results.Open:
		return cty.UnknownVal(issueType), nil
	default:
		i := slices.IndexFunc(a.refs, func(ref reference) bool { return ref.kind == kindIssue })
		return cty.UnknownVal(issueType), hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Result not available",
			Detail: "The issue could not be read, and the session has none on record.", Subject: a.refs[i].rng.Ptr(),
		}}
	}
	i := results.Issue
	number := cty.NullVal(cty.Number)
	if i.Number > 0 {
		number = cty.NumberIntVal(int64(i.Number))
	}
	return cty.ObjectVal(map[string]cty.Value{
		"number": number, "title": cty.StringVal(i.Title), "body": cty.StringVal(i.Body), "labels": textList(i.Labels), "assignees": textList(i.Assignees),
	}), nil
}

// textList returns a list of texts.
func textList(texts []string) cty.Value {
	if len(texts) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	values := make([]cty.Value, len(texts))
	for i, text := range texts {
		values[i] = cty.StringVal(text)
	}
	return cty.ListVal(values)
}
