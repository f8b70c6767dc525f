package pipeline

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline/suggest"
)

// checkArgument reports references and calls that can't be right, once per argument.
// checkOrder checks whether a workstream that is referred to has completed in time.
func (b *builder) checkArgument(a *argument, fr frame) bool {
	if len(a.refs)+len(a.calls) == 0 {
		return true
	}
	if ok, done := b.checked[a]; done {
		return ok
	}
	before := len(b.diags)
	for _, ref := range a.refs {
		if diag := b.checkReference(a, ref, fr); diag != nil {
			b.addDiagnostics(hcl.Diagnostics{diag})
		}
	}
	for _, call := range a.calls {
		if _, ok := b.scope.functions[call.Name]; !ok {
			b.errorf("Call to unknown function", call.NameRange, "There is no function named %q.%s", call.Name, suggest.DidYouMean(call.Name, maps.Keys(b.scope.functions)))
		}
	}
	ok := len(b.diags) == before
	b.checked[a] = ok
	return ok
}

func (b *builder) checkReference(a *argument, ref reference, fr frame) *hcl.Diagnostic {
	failed := func(summary, detail string, args ...any) *hcl.Diagnostic {
		return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: ref.rng.Ptr()}
	}
	if ref.kind == kindSecret {
		b.used.secrets[ref.name] = true
	}
	root := ref.traversal.RootName()
	switch {
	case ref.kind == kindInvalid && a.interpolates(ref):
		return failed("Unknown reference", "There is nothing named %q. %s%s", root, shellAdvice(a.name, root), suggest.DidYouMean(root, maps.Keys(rootKinds)))
	case ref.kind == kindInvalid:
		return failed("Unknown reference", "There is nothing named %q. An expression can refer to %s.%s A text must be in quotes.", root, rootNames(), suggest.DidYouMean(root, maps.Keys(rootKinds)))
	case ref.kind == kindAgent:
		return failed("Invalid reference", "Agents have no value; agent.%s can stand in the argument \"agent\" of a workstream only.", ref.name)
	case ref.kind == kindSavepoint:
		return failed("Invalid reference", "Savepoints have no value; savepoint.%s can stand in \"savepoints\" of a protect block only.", ref.name)
	case ref.kind == kindService && ref.kind&fr.allow == 0:
		return failed("Service not certain", "The argument %q cannot use %s: a service runs only while a process needs it. The processes of workstreams, gates and services can use it.", a.name, ref.source())
	case ref.kind&fr.allow == 0:
		return b.notAllowed(a, ref, fr)
	case ref.name == "" && ref.kind&(kindEach|kindVar|kindLocal|kindPipeline|kindRun|kindIteration|kindIssue|kindSecret) != 0 && len(ref.traversal) == 1:
		return failed("Invalid reference", "%q alone is not a value; write %s.NAME.", root, root)
	case ref.name == "":
		return failed("Invalid reference", "After %q there must be a dot and a name: %s.NAME.", root, root)
	}
	if diag := b.checkName(ref, failed); diag != nil {
		return diag
	}
	return b.checkSensitiveOutput(a, ref, fr)
}

// interpolates reports whether a reference is all that a ${…} of a text holds, as in a
// variable of a shell.
func (a *argument) interpolates(ref reference) bool {
	start, end := ref.rng.Start.Byte-a.expr.Range().Start.Byte, ref.rng.End.Byte-a.expr.Range().Start.Byte
	return len(ref.traversal) == 1 && start >= 0 && end <= len(a.source) &&
		bytes.HasSuffix(a.source[:start], []byte("${")) && bytes.HasPrefix(a.source[end:], []byte("}"))
}

// shellAdvice explains what to write in an argument for a variable of the shell or of the
// environment.
func shellAdvice(argument, name string) string {
	switch argument {
	case "script":
		return fmt.Sprintf("For the shell's variable write $%s or $${%s}; ${…} is replaced before the shell runs, and can refer to %s.", name, name, rootNames())
	case "command", "verify":
		return fmt.Sprintf("%q runs without a shell, which alone knows $%s: use script = \"…\" with $%s or $${%s} in it. Here ${…} can refer to %s.", argument, name, name, name, rootNames())
	}
	return fmt.Sprintf("Here ${…} can refer to %s. What comes from the environment comes through a variable: declare variable %q {}, refer to var.%s, and set PRDRUNNER_VAR_%s.", rootNames(), name, name, name)
}

// notAllowed explains why an argument can't refer to something that exists.
func (b *builder) notAllowed(a *argument, ref reference, fr frame) *hcl.Diagnostic {
	failed := func(summary, detail string, args ...any) *hcl.Diagnostic {
		return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: ref.rng.Ptr()}
	}
	switch {
	case ref.kind&kindDeferred != 0 && fr.noResults != "":
		return failed("Result not certain", "%s, so %s cannot be used here.", fr.noResults, ref.source())
	case ref.kind == kindSecret:
		return failed("Reference not allowed", "%s cannot be used in %q. A secret is resolved only when a process of a run is about to start, so it can stand in arguments of such a process only, such as env, command and script.", ref.source(), a.name)
	case ref.kind == kindEach:
		return failed("Reference outside for_each", "each.key and each.value exist only in a workstream with for_each, and in the gate blocks inside it.")
	case ref.kind&kindDeferred != 0 && a.name == "for_each":
		return failed("Value not known yet", "for_each can use results of workstreams and answers to gates of earlier phases, but not %s.", ref.source())
	case ref.kind&kindDeferred != 0 && fr.allow&(kindLocal|kindPipeline) != 0:
		return failed("Value not known yet", "The argument %q must be known before anything runs, so it cannot refer to %s.", a.name, ref.source())
	case fr.allow == 0:
		return failed("Reference not allowed", "The argument %q of a variable must be a constant, so it cannot refer to %s.", a.name, ref.source())
	}
	return failed("Reference not allowed", "%s cannot be used in %q: it is not known where this is evaluated. It may refer to %s.", ref.source(), a.name, allowedNames(fr.allow))
}

func allowedNames(allow kinds) string {
	var names []string
	for name, kind := range rootKinds {
		if allow&kind != 0 {
			names = append(names, name)
		}
	}
	return suggest.Listing(slices.Values(names))
}

// checkName checks that the file declares the name in a reference.
func (b *builder) checkName(ref reference, failed func(summary, detail string, args ...any) *hcl.Diagnostic) *hcl.Diagnostic {
	fixed := func() *hcl.Diagnostic {
		root := ref.traversal.RootName()
		names := Following(root, false)
		if slices.Contains(names, ref.name) {
			return nil
		}
		return failed("Unknown reference", "There is no %s.%s; %s has: %s.%s", root, ref.name, root, suggest.Listing(slices.Values(names)), suggest.DidYouMean(ref.name, slices.Values(names)))
	}
	switch ref.kind {
	case kindVar:
		if b.scope.variables[ref.name] == nil {
			return failed("Unknown variable", "The file declares no variable %q.%s", ref.name, suggest.DidYouMean(ref.name, maps.Keys(b.scope.variables)))
		}
	case kindLocal:
		if b.scope.locals[ref.name] == nil {
			return failed("Unknown local", "No locals block has a value named %q.%s", ref.name, suggest.DidYouMean(ref.name, maps.Keys(b.scope.locals)))
		}
	case kindEach, kindPipeline, kindRun, kindIteration:
		return fixed()
	case kindSecret:
		if b.pipeline.SecretSource(ref.name) == nil {
			return failed("Unknown secret", "The pipeline declares no secret %q.%s", ref.name, suggest.DidYouMean(ref.name, b.pipeline.secretNames()))
		}
	case kindIssue:
		if diag := b.checkIssue(ref, failed); diag != nil {
			return diag
		}
		return fixed()
	case kindWorkstream:
		return b.checkWorkstreamName(ref, failed)
	case kindGate:
		return b.checkGateName(ref, failed)
	case kindService:
		return b.checkServiceName(ref, failed)
	case kindMetric, kindAgent, kindSavepoint, kindInvalid, kindDeferred, kindStatic: // the file declares no such names
	}
	return nil
}

func (b *builder) checkWorkstreamName(ref reference, failed func(summary, detail string, args ...any) *hcl.Diagnostic) *hcl.Diagnostic {
	def := b.scope.blocks[ref.name]
	if def == nil {
		return failed("Unknown workstream", "There is no workstream named %q.%s", ref.name, suggest.DidYouMean(ref.name, maps.Keys(b.scope.blocks)))
	}
	keyed := ref.hasKey || ref.keyExpr != nil || ref.loopKeys != nil
	attr, rng, hasAttr := ref.attribute()
	switch {
	case keyed && !def.forEach:
		return failed("Invalid reference", "The workstream %s has no for_each, so it has no instances to choose from; write workstream.%s.", ref.name, ref.name)
	case !keyed && def.forEach && hasAttr:
		return failed("Invalid reference", "The workstream %s has for_each, so an instance must be chosen first: workstream.%s[\"KEY\"].%s.", ref.name, ref.name, attr)
	case !hasAttr || slices.Contains(Following("workstream", true), attr):
		return nil
	}
	diag := failed("Unknown reference", "A workstream has outputs, artifacts and a status, but no %q.%s Write workstream.%s.outputs.NAME for what it wrote to RUNNER_OUTPUT.", attr, suggest.DidYouMean(attr, slices.Values(Following("workstream", true))), ref.name)
	diag.Subject = hcl.RangeBetween(ref.rng, rng).Ptr()
	return diag
}
