package pipeline

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"prdrunner/pipeline/files"
)

// maxShownValue is the largest size of a value that is shown, in bytes.
const maxShownValue = 1024

// Over lists the references by which the definition of a workstream may change, in its own
// arguments and in those of the services that it needs: the values that count in the digest, and the
// calls of functions that read files, as the author wrote them.
func (w *Workstream) Over() []string {
	return w.def.scope.referencesOf(w.def.process.arguments, w.Services)
}

// Over lists the references of a gate with a process or a condition.
func (g *Gate) Over() []string {
	switch {
	case g.def.process != nil:
		return g.def.scope.referencesOf(g.def.process.arguments, g.Services)
	case g.Kind == GateCondition:
		return g.def.scope.referencesOf(slices.Values([]*argument{g.def.block.condition}), nil)
	}
	return nil
}

// referencesOf lists the references in arguments and in those of services.
func (s *scope) referencesOf(arguments iter.Seq[*argument], services []string) []string {
	names := referencesIn(arguments, "")
	for _, name := range s.withNeeds(services) {
		names = append(names, referencesIn(s.services[name].process.arguments, "service."+name+".")...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// referencesIn lists the references in the arguments of a block. of goes before the name of an
// argument.
func referencesIn(arguments iter.Seq[*argument], of string) []string {
	var names []string
	for a := range arguments {
		if a.name == envFileArgument {
			names = append(names, of+a.name+" "+string(a.source))
		}
		for _, ref := range a.refs {
			if ref.kind&(kindRun|kindIteration|kindService|kindSecret) == 0 { // these never count by their values
				names = append(names, a.written(ref))
			}
		}
		for _, call := range a.calls {
			if rng := call.Range(); files.Provides(call.Name) {
				names = append(names, string(a.sourceBetween(rng.Start.Byte, rng.End.Byte)))
			}
		}
	}
	return names
}

// referenceParts lists the values of the references in an expression, and of the files
// that its functions read. A long value, and one that must not be shown, is replaced by
// its digest.
func (s *scope) referenceParts(a *argument, fr frame) []part {
	fr.reads = s.readsOf(a, fr)
	ctx, diags := s.context(a, fr, viewPlaceholder)
	if diags.HasErrors() {
		return nil
	}
	var parts []part
	add := func(name string, value cty.Value, shown bool) {
		if slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return
		}
		text := textOf(value)
		if !shown || len(text) > maxShownValue {
			text = hiddenText + sumValue(value)
		}
		parts = append(parts, part{name: name, text: text})
	}
	for _, ref := range a.refs {
		value, diags := ref.traversal.TraverseAbs(ctx)
		if value, _ = withoutMarks(value); !diags.HasErrors() && value.IsWhollyKnown() {
			add(a.written(ref), value, !s.refersToSensitive(ref))
		}
	}
	if fr.reads != nil {
		_, _ = a.expr.Value(ctx) // records the files that it reads
		for _, call := range fr.reads.calls {
			if call.value != cty.NilVal && call.value.IsWhollyKnown() {
				add(call.String(), call.value, true)
			}
		}
	}
	return parts
}

// refersToSensitive reports whether a reference leads to a sensitive value.
func (s *scope) refersToSensitive(ref reference) bool {
	switch ref.kind {
	case kindVar:
		return s.isSensitive([]string{ref.name})
	case kindLocal:
		l := s.locals[ref.name]
		return l != nil && s.isSensitive(l.variables)
	case kindSecret:
		return true
	case kindWorkstream:
		return len(s.sensitiveOutputs(ref)) > 0
	default:
		return false
	}
}

// textOf returns a value for people: a string as it is, other values as JSON.
func textOf(value cty.Value) string {
	if value.Type() == cty.String && !value.IsNull() {
		return value.AsString()
	}
	data, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		return ""
	}
	return Readable(string(data))
}

// Readable removes the escapes from JSON that only HTML needs.
func Readable(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// written is a reference as the author wrote it.
func (a *argument) written(ref reference) string {
	if text := a.sourceBetween(ref.rng.Start.Byte, ref.rng.End.Byte); len(text) > 0 {
		return string(text)
	}
	return ref.source()
}

// sourceBetween returns the source between two offsets of the file, or nil if they are
// outside the expression.
func (a *argument) sourceBetween(from, to int) []byte {
	begin := a.expr.Range().Start.Byte
	if from -= begin; from < 0 || to-begin > len(a.source) || from > to-begin {
		return nil
	}
	return a.source[from : to-begin]
}
