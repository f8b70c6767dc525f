package pipeline

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// outputsDef are the outputs of a pipeline, which become those of the workstream that calls
// it.
type outputsDef struct {
	values variables
	end    position // after all phases
}

// outputsFrame returns the values that outputs may use: those of a complete session.
func outputsFrame() frame {
	fr := constantFrame(noEach)
	fr.allow |= kindDeferred
	return fr
}

// buildOutputs checks the outputs of the pipeline.
func (b *builder) buildOutputs(a *argument, values variables) {
	if a == nil {
		return
	}
	def := &outputsDef{values: values, end: position{phase: &Phase{Number: len(b.phases) + 1}, what: `"outputs"`}}
	for _, v := range values {
		if v.name == "" {
			b.errorf("Invalid outputs", a.exprRange(), `"outputs" is an object that is written out: outputs = { NAME = VALUE }.`)
			return
		}
		if !isPlainIdentifier(v.name) || v.name == "summary" || v.name == "location" {
			b.errorf("Invalid output name", v.value.exprRange(), "%q cannot be the name of an output. Names have letters, digits, _ and -, and begin with a letter or _; summary and location are no outputs.", v.name)
		}
		if !b.checkArgument(v.value, outputsFrame()) {
			continue
		}
		if len(b.scope.sensitiveNames(v.value)) > 0 {
			b.addDiagnostics(hcl.Diagnostics{sensitiveNotAllowed("the output "+v.name+" of a pipeline", v.value.exprRange())})
			continue
		}
		b.checkOrder(v.value, outputsFrame(), def.end)
		b.checkAnswers(v.value, def.end)
		b.evaluateOnce(v.value, outputsFrame(), cty.String)
	}
	b.pipeline.outputs = def
}

// Outputs evaluates the outputs of the pipeline with the results of a complete session. A
// pipeline without outputs has none.
func (p *Pipeline) Outputs(r Results) (map[string]string, hcl.Diagnostics) {
	if p.outputs == nil {
		return nil, nil
	}
	fr := outputsFrame()
	fr.results, fr.at = &r, p.outputs.end
	values := make(map[string]string, len(p.outputs.values))
	var diags hcl.Diagnostics
	for _, v := range p.outputs.values {
		value, more := p.scope.evaluate(v.value, fr, cty.String)
		if diags = append(diags, more...); more.HasErrors() {
			continue
		}
		text, err := toText(value)
		if err == nil && !value.IsKnown() {
			err = errNull
		}
		if err != nil {
			diags = append(diags, v.value.unsuitable(err))
			continue
		}
		values[v.name] = text
	}
	return values, diags
}
