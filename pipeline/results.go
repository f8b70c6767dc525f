package pipeline

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"prdrunner/pipeline/suggest"
)

// resultType is the type of workstream.X. For a block with for_each it is the type of
// each element.
var resultType = cty.Object(map[string]cty.Type{"outputs": cty.Map(cty.String), "artifacts": cty.List(cty.String), "status": cty.String})

// target is the target of a reference to a workstream: one instance, or, if instance is
// nil, the whole block.
type target struct {
	def      *workstreamDef
	instance *Workstream
}

// written returns the target as written in depends_on.
func (t target) written() string {
	if t.instance != nil {
		return "workstream." + t.instance.Name
	}
	return "workstream." + t.def.block.name
}

// instances lists the instances of the target.
func (t target) instances() []*Workstream {
	if t.instance != nil {
		return []*Workstream{t.instance}
	}
	return t.def.instances
}

// allInstances yields the instances of targets.
func allInstances(targets []target) iter.Seq[*Workstream] {
	return func(yield func(*Workstream) bool) {
		for _, t := range targets {
			for _, ws := range t.instances() {
				if !yield(ws) {
					return
				}
			}
		}
	}
}

// target resolves a reference to a workstream, an instance or a block. It returns false without
// a diagnostic if the block or its keys could not be determined.
func (s *scope) target(ref reference, fr frame) (target, bool, hcl.Diagnostics) {
	def := s.blocks[ref.name]
	if def == nil {
		return target{}, false, nil
	}
	if !def.forEach || !ref.hasKey && ref.keyExpr == nil {
		return target{def: def}, true, nil
	}
	if def.unknownKeys {
		return target{}, false, nil
	}
	key := ref.key
	if ref.keyExpr != nil {
		value, ok, diags := s.instanceKey(ref, fr)
		if !ok {
			return target{}, false, diags
		}
		key = value
	}
	instance := def.byKey[key]
	if instance == nil {
		return target{}, false, hcl.Diagnostics{def.noInstance(key, ref.rng)}
	}
	return target{def: def, instance: instance}, true, nil
}

// targets resolves a reference to a workstream to all that it names. If the keys of a reference
// in a for expression can't be evaluated, it names the whole block. If they or those of the
// block are not known yet, complete is false: it names the whole block until they are.
func (s *scope) targets(ref reference, fr frame) (named []target, complete bool, diags hcl.Diagnostics) {
	def := s.blocks[ref.name]
	if ref.loopKeys == nil || def == nil || !def.forEach {
		t, ok, diags := s.target(ref, fr)
		if !ok {
			return nil, false, diags
		}
		return []target{t}, true, diags
	}
	whole := []target{{def: def}}
	value, diags := s.evaluate(ref.loopKeys, fr, cty.DynamicPseudoType)
	if diags.HasErrors() {
		return whole, true, nil // the expression itself fails, unless it does not come to the key
	}
	if def.unknownKeys || !value.IsWhollyKnown() {
		return whole, false, nil
	}
	keys, ok := nestedTexts(nil, value)
	if !ok {
		return whole, true, nil
	}
	named, seen := []target{}, make(map[string]bool, len(keys))
	for _, key := range keys {
		// A key that the block does not have is an error where the expression is evaluated.
		if instance := def.byKey[key]; instance != nil && !seen[key] {
			seen[key] = true
			named = append(named, target{def: def, instance: instance})
		}
	}
	return named, true, nil
}

// nestedTexts appends the texts in nested lists. It returns false if there is anything else
// among them, or if one is sensitive.
func nestedTexts(texts []string, value cty.Value) (_ []string, ok bool) {
	if value.IsMarked() || value.IsNull() {
		return nil, false
	}
	if value.Type().IsTupleType() {
		for _, elem := range value.AsValueSlice() {
			if texts, ok = nestedTexts(texts, elem); !ok {
				return nil, false
			}
		}
		return texts, true
	}
	text, err := convert.Convert(value, cty.String)
	if err != nil {
		return nil, false
	}
	return append(texts, text.AsString()), true
}

// noInstance returns the error for a key that the block does not have.
func (def *workstreamDef) noInstance(key string, rng hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Unknown workstream instance",
		Detail:   fmt.Sprintf("The for_each of workstream.%s has no key %q.%s It has: %s.", def.block.name, key, suggest.DidYouMean(key, maps.Keys(def.byKey)), suggest.Listing(maps.Keys(def.byKey))),
		Subject:  rng.Ptr(),
	}
}

// instanceKey evaluates the key of workstream.X[expression].
func (s *scope) instanceKey(ref reference, fr frame) (string, bool, hcl.Diagnostics) {
	fr.allow &^= kindDeferred // which instance is meant must be known before anything runs
	value, diags := s.evaluate(ref.keyExpr, fr, cty.String)
	if diags.HasErrors() {
		return "", false, diags
	}
	if value.IsMarked() {
		return "", false, hcl.Diagnostics{sensitiveNotAllowed("the key of a workstream", ref.rng)}
	}
	if !value.IsKnown() {
		return "", false, nil
	}
	if value.IsNull() {
		return "", false, hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Unknown workstream instance",
			Detail: fmt.Sprintf("The key of workstream.%s is null here.", ref.name), Subject: ref.rng.Ptr(),
		}}
	}
	return value.AsString(), true, nil
}

// addResults adds the results that an expression refers to to its evaluation context.
func (s *scope) addResults(ctx *hcl.EvalContext, a *argument, fr frame, v view) hcl.Diagnostics {
	var diags hcl.Diagnostics
	if a.kinds&kindSecret != 0 {
		ctx.Variables["secret"] = secretValue(a, fr.results, v)
	}
	if a.kinds&kindRun != 0 {
		ctx.Variables["run"] = runValue(fr.results, v)
	}
	if a.kinds&kindIteration != 0 {
		ctx.Variables["iteration"] = iterationValue(fr.results, fr.at, v)
	}
	if a.kinds&kindService != 0 {
		ctx.Variables["service"] = serviceValue(a, fr.results, v)
	}
	if a.kinds&kindIssue != 0 {
		value, more := issueValue(a, fr.results)
		ctx.Variables["issue"], diags = value, append(diags, more...)
	}
	if a.kinds&kindMetric != 0 {
		value, more := metricValue(a, fr.results)
		ctx.Variables["metric"], diags = value, append(diags, more...)
	}
	if a.kinds&kindGate != 0 {
		value, more := s.gateValue(a, fr)
		ctx.Variables["gate"], diags = value, append(diags, more...)
	}
	if a.kinds&kindWorkstream != 0 {
		value, more := s.workstreamValue(a, fr, v)
		ctx.Variables["workstream"], diags = value, append(diags, more...)
	}
	return diags
}

func runValue(results *Results, v view) cty.Value {
	switch {
	case v == viewPlaceholder:
		return cty.ObjectVal(map[string]cty.Value{
			"session": cty.StringVal("run.session"), "attempt": cty.NumberIntVal(1), "resumed": cty.False,
		})
	case results == nil:
		return cty.ObjectVal(map[string]cty.Value{
			"session": cty.UnknownVal(cty.String), "attempt": cty.UnknownVal(cty.Number), "resumed": cty.UnknownVal(cty.Bool),
		})
	}
	return cty.ObjectVal(map[string]cty.Value{
		"session": cty.StringVal(results.Run.Session),
		"attempt": cty.NumberIntVal(int64(results.Run.Attempt)),
		"resumed": cty.BoolVal(results.Run.Resumed),
	})
}

func metricValue(a *argument, results *Results) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	values := map[string]cty.Value{}
	for _, ref := range a.refs {
		if ref.kind != kindMetric || ref.name == "" {
			continue
		}
		values[ref.name] = cty.DynamicVal
		if results == nil {
			continue
		}
		metric, ok := results.Metrics[ref.name]
		value, err := metricToValue(metric)
		if ok && err == nil {
			values[ref.name] = value
			continue
		}
		if results.Open {
			continue
		}
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Metric not available",
			Detail: fmt.Sprintf("No workstream has set the metric %q so far. One sets it by writing metric.%s=VALUE to the file that RUNNER_OUTPUT names.%s Set are: %s.",
				ref.name, ref.name, suggest.DidYouMean(ref.name, maps.Keys(results.Metrics)), suggest.Listing(maps.Keys(results.Metrics))),
			Subject: ref.rng.Ptr(),
		})
	}
	return cty.ObjectVal(values), diags
}

func metricToValue(metric any) (cty.Value, error) {
	switch metric := metric.(type) {
	case json.Number:
		if n, ok := ParseNumber(string(metric)); ok { // the recorded text may be invalid
			return cty.ParseNumberVal(string(n))
		}
	case bool:
		return cty.BoolVal(metric), nil
	case string:
		return cty.StringVal(metric), nil
	}
	return cty.DynamicVal, fmt.Errorf("metric of unknown type %T", metric)
}

// workstreamValue returns the object `workstream`. It holds the blocks to which the
// expression refers. For a block with for_each it holds only those instances.
func (s *scope) workstreamValue(a *argument, fr frame, v view) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	blocks := map[string]cty.Value{}
	elements := map[string]map[string]cty.Value{}
	for _, ref := range a.refs {
		if ref.kind != kindWorkstream || s.blocks[ref.name] == nil {
			continue
		}
		def := s.blocks[ref.name]
		if fr.results == nil {
			blocks[ref.name] = def.unknownResult()
			continue
		}
		named, _, more := s.targets(ref, fr)
		diags = append(diags, more...)
		if def.forEach && named != nil && elements[ref.name] == nil {
			elements[ref.name] = map[string]cty.Value{}
		}
		for ws := range allInstances(named) {
			value, diag := ws.result(fr.results, ref, v)
			switch {
			case diag != nil:
				diags = append(diags, diag)
			case def.forEach:
				elements[ref.name][ws.Key] = value
			default:
				blocks[ref.name] = value
			}
		}
	}
	for name, values := range elements {
		blocks[name] = cty.MapValEmpty(resultType)
		if len(values) > 0 {
			blocks[name] = cty.MapVal(values)
		}
	}
	return cty.ObjectVal(blocks), diags
}

func (def *workstreamDef) unknownResult() cty.Value {
	if def.forEach {
		return cty.UnknownVal(cty.Map(resultType))
	}
	return cty.UnknownVal(resultType)
}

// result returns the value of an instance that has ended.
func (w *Workstream) result(results *Results, ref reference, v view) (cty.Value, *hcl.Diagnostic) {
	var result Result
	ok := false
	if results.Workstream != nil {
		result, ok = results.Workstream(w.Name)
	}
	if !ok && results.Open {
		return cty.UnknownVal(resultType), nil
	}
	if !ok {
		return cty.NilVal, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Result not available",
			Detail:   fmt.Sprintf("The workstream %s has no result: it has not completed.", w.Name),
			Subject:  ref.rng.Ptr(),
		}
	}
	return cty.ObjectVal(map[string]cty.Value{"outputs": w.outputsValue(result, v), "artifacts": textList(result.Artifacts), "status": cty.StringVal(string(result.Status))}), nil
}

// missingOutputs explains a failed evaluation: the expression names outputs that a
// workstream did not set, or inputs that were not given.
func (s *scope) missingOutputs(a *argument, fr frame) hcl.Diagnostics {
	if fr.results == nil {
		return nil
	}
	diags := s.missingAnswers(a, fr)
	if fr.results.Workstream == nil {
		return diags
	}
	for _, ref := range a.refs {
		if ref.kind != kindWorkstream || len(ref.rest) < 2 {
			continue
		}
		name, ok := stepName(ref.rest[1])
		if attr, _, _ := ref.attribute(); attr != "outputs" || !ok {
			continue
		}
		named, _, _ := s.targets(ref, fr)
		for _, t := range named {
			if len(t.instances()) != 1 {
				continue
			}
			ws := t.instances()[0]
			result, ok := fr.results.Workstream(ws.Name)
			if _, set := result.Outputs[name]; ok && !set {
				diags = append(diags, missingOutput(ws.Name, name, result, ref))
			}
		}
	}
	return diags
}

// MissingOutput is the Extra of a diagnostic about a missing output of a workstream.
type MissingOutput struct{ Workstream, Output string }

func missingOutput(workstream, name string, result Result, ref reference) *hcl.Diagnostic {
	detail := fmt.Sprintf("The workstream %s completed without the output %q.%s It set: %s. An output is set by writing %s=VALUE to the file that RUNNER_OUTPUT names.",
		workstream, name, suggest.DidYouMean(name, maps.Keys(result.Outputs)), suggest.Listing(maps.Keys(result.Outputs)), name)
	if became := result.Status.became(); became != "" {
		detail = fmt.Sprintf("The workstream %s %s, and has no output %q. try(…, VALUE) gives another value then.", workstream, became, name)
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Missing output", Detail: detail, Subject: ref.rng.Ptr(), Extra: MissingOutput{workstream, name}}
}
