package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"prdrunner/pipeline/files"
)

// Difference is one difference between two definitions. A text is "" if the value does
// not exist on that side, or if it must not be shown.
type Difference struct {
	Name     string // command[2], env.NAME, script line 3 …
	Old, New string
}

// part is a named part of a definition, to be compared with the part of the same name in
// another version of the file. For an element of a list, list is the name of the list.
type part struct{ name, text, list string }

// DifferencesFrom lists the differences between the definition of a workstream and that
// of an earlier version of the file, each evaluated with its results. It never contains a
// sensitive value.
func (w *Workstream) DifferencesFrom(earlier *Workstream, before, now Results) []Difference {
	return differences(earlier.definitionParts(before), w.definitionParts(now))
}

// DifferencesFrom lists the differences between the definition of a gate and an earlier
// one.
func (g *Gate) DifferencesFrom(earlier *Gate, before, now Results) []Difference {
	return differences(earlier.definitionParts(before), g.definitionParts(now))
}

func (w *Workstream) definitionParts(r Results) []part {
	parts := w.def.process.definitionParts(w.evaluationFrame(&r))
	parts = append(parts, indexed("inputs", inDigest(w.Inputs))...)
	parts = append(parts, indexed("artifacts", inDigest(w.Artifacts))...)
	parts = append(parts, w.def.scope.serviceParts(w.Services, r)...)
	parts = append(parts, indexed("sensitive_outputs", sorted(w.SensitiveOutputs))...)
	parts = append(parts, w.Isolate.parts()...)
	return append(parts, part{name: "effect", text: string(w.Effect)})
}

func (g *Gate) definitionParts(r Results) []part {
	parts := append([]part{{name: "kind", text: string(g.Kind)}}, indexed("inputs", inDigest(g.Inputs))...)
	switch g.Kind {
	case GateCommand:
		parts = append(parts, g.def.process.definitionParts(g.evaluationFrame(&r))...)
		parts = append(parts, g.def.scope.serviceParts(g.Services, r)...)
	case GateCondition:
		parts = append(parts, part{name: "condition", text: string(g.def.block.condition.source)})
		parts = append(parts, g.def.scope.referenceParts(g.def.block.condition, g.evaluationFrame(&r))...)
	case GateMetric:
		parts = append(parts, g.Metric.definitionParts()...)
	case GateApproval:
		parts = g.Approval.parts()
	}
	return parts
}

func (m *MetricRule) definitionParts() []part {
	parts := []part{{name: "metric", text: m.Name}}
	for _, bound := range []struct {
		name  string
		value any
		given bool
	}{
		{"min", m.Min, m.Min != nil}, {"max", m.Max, m.Max != nil}, {"max_drop", m.MaxDrop, m.MaxDrop != nil},
		{"max_rise", m.MaxRise, m.MaxRise != nil}, {"equals", m.Equals, m.Equals != nil},
	} {
		if number, ok := bound.value.(*json.Number); ok && bound.given {
			bound.value = *number
		}
		if bound.given {
			parts = append(parts, part{name: bound.name, text: fmt.Sprint(bound.value)})
		}
	}
	return parts
}

// definitionParts lists the values that go into the digest of a process. An argument
// whose value must not be shown is one part, with a digest in place of the value.
func (p *processDef) definitionParts(fr frame) []part {
	ev, diags := p.evaluate(fr)
	if diags.HasErrors() {
		return nil
	}
	var parts []part
	add := func(a *argument, shown ...part) {
		switch {
		case a == nil && len(shown) == 0:
		case a != nil && slices.Contains(ev.opaque, a):
			parts = append(parts, p.hiddenPart(a.name, a, fr))
		default:
			parts = append(parts, shown...)
		}
	}
	add(p.command, indexed("command", ev.command)...)
	if p.script != nil {
		add(p.script, numbered("script", ev.script)...)
		add(p.shell, indexed("shell", ev.shell)...)
	}
	add(ev.dirFrom, part{name: "dir", text: ev.dir})
	var paths []string
	for _, file := range ev.envFiles {
		paths = append(paths, file.path)
	}
	parts = append(parts, indexed(envFileArgument, paths)...)
	for _, v := range p.opaqueEnv(ev) {
		parts = append(parts, p.hiddenPart(v.label(), v.value, fr))
	}
	parts = append(parts, named("env.", ev.shownEnv())...)
	if p.task != nil {
		add(p.task, numbered("task", ev.task)...)
	}
	return append(parts, p.callParts(ev, fr)...)
}

// hiddenPart returns the part of an argument whose value must not be shown.
func (p *processDef) hiddenPart(name string, a *argument, fr frame) part {
	h := newHasher()
	p.scope.sumOpaque(h, name, a, fr)
	return part{name: name, text: hiddenText + h.sum()}
}

// hiddenText begins the text of a part that is compared but not shown.
const hiddenText = "\x00"

// numbered returns the lines of a text.
func numbered(name, text string) []part {
	var lines []part
	for i, line := range strings.Split(text, "\n") {
		lines = append(lines, part{list: name, name: fmt.Sprintf("%s line %d", name, i+1), text: line})
	}
	return lines
}

// named returns the variables of an environment.
func named(prefix string, env map[string]string) []part {
	var parts []part
	for _, name := range slices.Sorted(maps.Keys(env)) {
		parts = append(parts, part{name: prefix + name, text: env[name]})
	}
	return parts
}

func indexed(name string, list []string) []part {
	parts := make([]part, len(list))
	for i, text := range list {
		parts[i] = part{list: name, name: fmt.Sprintf("%s[%d]", name, i), text: text}
	}
	return parts
}

// differences compares two lists of parts. Changed and new parts come first, in their
// present order, then removed ones. If an argument is sensitive in either version,
// neither value is shown: a text that was written in the file before may be the secret
// of today. For the same reason, no value of env is shown if a variable of it is sensitive.
func differences(was, is []part) []Difference {
	hidden := hiddenArguments(was, is)
	hidesEnv := slices.ContainsFunc(hidden, func(name string) bool { return part{name: name}.belongsTo("env") })
	was, is = coarsened(was, hidden), coarsened(is, hidden)
	was, is = withoutCommonEnds(was, is), withoutCommonEnds(is, was)
	old := make(map[string]string, len(was))
	for _, p := range was {
		old[p.name] = p.text
	}
	var found []Difference
	for _, p := range is {
		before, had := old[p.name]
		if delete(old, p.name); !had || before != p.text {
			found = append(found, Difference{Name: p.name, Old: shownPart(before, had), New: shownPart(p.text, true)})
		}
	}
	for _, p := range was {
		if text, gone := old[p.name]; gone {
			found = append(found, Difference{Name: p.name, Old: shownPart(text, true)})
		}
	}
	for i, d := range found {
		if hidesEnv && (part{name: d.Name}).belongsTo("env") {
			found[i] = Difference{Name: d.Name}
		}
	}
	return found
}

// withoutCommonEnds removes from parts the common beginning and end of each list.
// Without this, an inserted element would make all elements after it appear as changed.
func withoutCommonEnds(parts, others []part) []part {
	var all []part
	for len(parts) > 0 {
		list := parts[0].list
		n := 1
		for list != "" && n < len(parts) && parts[n].list == list {
			n++
		}
		if list == "" {
			all = append(all, parts[0])
		} else {
			first, last := differingRange(parts[:n], elements(others, list))
			all = append(all, parts[first:last]...)
		}
		parts = parts[n:]
	}
	return all
}

// elements returns the parts that belong to a list.
func elements(parts []part, list string) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.list != list })
}

// differingRange returns the range of a list that remains between the beginning and the
// end that it has in common with another list.
func differingRange(list, other []part) (first, last int) {
	last = len(list)
	for first < min(len(list), len(other)) && list[first].text == other[first].text {
		first++
	}
	for rest := len(other) - first; last > first && rest > 0 && list[last-1].text == other[first+rest-1].text; rest-- {
		last--
	}
	return first, last
}

// hiddenArguments returns the names of the arguments of which a list hides the value.
func hiddenArguments(lists ...[]part) []string {
	var names []string
	for _, list := range lists {
		for _, p := range list {
			if strings.HasPrefix(p.text, hiddenText) && !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
	}
	return names
}

// coarsened returns the parts, with the parts of each hidden argument merged into one
// part that is not shown.
func coarsened(parts []part, hidden []string) []part {
	if len(hidden) == 0 {
		return parts
	}
	var all []part
	at := map[string]int{}
	for _, p := range parts {
		i := slices.IndexFunc(hidden, func(name string) bool { return p.belongsTo(name) })
		if i < 0 {
			all = append(all, p)
			continue
		}
		name := hidden[i]
		if _, ok := at[name]; !ok {
			at[name] = len(all)
			all = append(all, part{name: name, text: hiddenText})
		}
		all[at[name]].text += p.name + "\x00" + p.text + "\x00"
	}
	return all
}

// belongsTo reports whether a part belongs to an argument: command[0] belongs to command,
// env.HOME to env, and "script line 1" to script.
func (p part) belongsTo(argument string) bool {
	rest, ok := strings.CutPrefix(p.name, argument)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "[. "))
}

// shownPart quotes a text for people, or returns "" for a text that must not be shown.
func shownPart(text string, there bool) string {
	if !there || strings.HasPrefix(text, hiddenText) {
		return ""
	}
	return strconv.Quote(text)
}

// ValueOf returns the value of a variable as JSON, and its digest. The value is "" for a
// sensitive or missing variable.
func (p *Pipeline) ValueOf(name string) (text, sum string) {
	v := p.variables[name]
	if v == nil || v.sensitive || !v.value.IsWhollyKnown() {
		return "", ""
	}
	data, err := ctyjson.Marshal(v.value, v.value.Type())
	if err != nil {
		return "", ""
	}
	return string(data), v.sum
}

// Hides reports whether a variable is sensitive.
func (p *Pipeline) Hides(name string) bool {
	v := p.variables[name]
	return v != nil && v.sensitive
}

// Given returns the values that were given to variables, by name, as JSON. It leaves out
// defaults and sensitive variables.
func (p *Pipeline) Given() map[string]string {
	values := make(map[string]string, len(p.inputs.Variables))
	for name := range p.inputs.Variables {
		if text, _ := p.ValueOf(name); text != "" {
			values[name] = text
		}
	}
	return values
}

// Earlier evaluates an earlier version of the file (nil: this version), so that callers
// can compare the two. Before has the earlier values of variables, as JSON; "" is the
// default. Other variables keep their present values. Functions read the earlier
// contents of files. Earlier returns nil if the evaluation fails, and if the result
// would show the value of a variable that is sensitive now. The result must not be run.
func (p *Pipeline) Earlier(source []byte, before map[string]string, files files.Contents) *Pipeline {
	if source == nil {
		source = p.source
	}
	file, in := p.earlierFile(source, files)
	if file.diags.HasErrors() {
		return nil
	}
	in.Variables, in.Matches, in.Open = make(map[string]Input, len(file.variables)), nil, true
	for _, v := range file.variables {
		input, given := p.inputs.Variables[v.name]
		if value, changed := before[v.name]; changed {
			input, given = inputOfJSON(value)
		}
		if given {
			in.Variables[v.name] = input
		}
	}
	earlier, diags := file.Pipeline(in)
	if diags.HasErrors() {
		return nil
	}
	if len(p.elements) > 0 { // a for_each over results has the elements that it has now
		if earlier, diags = earlier.rebuilt(p.elements); diags.HasErrors() {
			return nil
		}
	}
	for name, v := range earlier.variables {
		if now := p.variables[name]; now != nil && now.sensitive && !v.sensitive {
			return nil
		}
	}
	return earlier
}

// EarlierDigest returns the digest of an earlier version of the file, with the files that it
// includes as they were.
func (p *Pipeline) EarlierDigest(source []byte, files files.Contents) string {
	file, _ := p.earlierFile(source, files)
	return file.digest()
}

// earlierFile returns an earlier version of the file, with the files that it includes as they
// were, and inputs that read such files.
func (p *Pipeline) earlierFile(source []byte, files files.Contents) (*File, Inputs) {
	in := p.inputs
	in.before = files
	file, _ := Parse(source, p.Source)
	return file.Including(in), in
}

// inputOfJSON returns a value that was given to a variable, or false for "".
func inputOfJSON(text string) (Input, bool) {
	var value ctyjson.SimpleJSONValue
	if text == "" || value.UnmarshalJSON([]byte(text)) != nil {
		return Input{}, false
	}
	return Input{Value: value.Value}, true
}
