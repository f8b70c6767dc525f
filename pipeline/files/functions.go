package files

import (
	"encoding/base64"
	"fmt"
	"maps"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"prdrunner/pipeline/limits"
	"prdrunner/pipeline/suggest"
)

// Functions returns the functions that read files, for one evaluation. If reads is
// nil, each file may be read. Others are the functions that templates may also call.
func (w *Workspace) Functions(others map[string]function.Function, reads Reads) map[string]function.Function {
	if reads == nil {
		reads = unrecorded{}
	}
	functions := map[string]function.Function{
		"file": w.reader("file", cty.String, reads, func(name string) (cty.Value, error) {
			text, err := w.readText(name, reads)
			return cty.StringVal(text), err
		}),
		"filebase64": w.reader("filebase64", cty.String, reads, func(name string) (cty.Value, error) {
			data, err := w.readFile(name, reads)
			return cty.StringVal(base64.StdEncoding.EncodeToString(data)), err
		}),
		"filesha256": w.reader("filesha256", cty.String, reads, func(name string) (cty.Value, error) {
			sum, err := w.checksum(name, reads)
			return cty.StringVal(sum), err
		}),
		"fileexists": w.reader("fileexists", cty.Bool, reads, func(name string) (cty.Value, error) {
			ok, err := w.exists(name, reads)
			return cty.BoolVal(ok), err
		}),
		"fileset": w.fileset(reads),
	}
	functions["templatefile"] = w.templatefile(reads, sync.OnceValue(func() map[string]function.Function {
		inTemplates := maps.Clone(others)
		for name, f := range functions {
			if name != "templatefile" {
				inTemplates[name] = f
			}
		}
		return inTemplates
	}))
	return functions
}

// reader returns a function whose only argument is a path.
func (w *Workspace) reader(called string, typ cty.Type, reads Reads, read func(name string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(typ),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			call := Call{Function: called, Path: args[0].AsString()}
			return w.evaluateCall(call, typ, reads, func() (cty.Value, error) {
				value, err := read(call.Path)
				if err != nil {
					return cty.NilVal, function.NewArgError(0, fmt.Errorf("cannot read %q: %w", call.Path, err))
				}
				return value, nil
			})
		},
	})
}

// Provides reports whether Functions returns a function with this name.
func Provides(name string) bool {
	switch name {
	case "file", "filebase64", "filesha256", "fileexists", "fileset", "templatefile":
		return true
	}
	return false
}

// evaluateCall returns the value of a call, from the cache if it was made before. If the
// call reads an artifact of a workstream, the value is not cached, and is unknown until
// the workstream has completed.
func (w *Workspace) evaluateCall(call Call, typ cty.Type, reads Reads, read func() (cty.Value, error)) (cty.Value, error) {
	made, there := reads.Check(call)
	if !there {
		return cty.UnknownVal(typ), nil
	}
	if made {
		value, err := read()
		reads.Record(call, value, err)
		return value, err
	}
	if known, ok := w.cache.Load(call); ok {
		reads.Record(call, known.(cty.Value), nil)
		return known.(cty.Value), nil
	}
	value, err := read()
	if err == nil {
		kept, _ := w.cache.LoadOrStore(call, value)
		value = kept.(cty.Value)
	}
	reads.Record(call, value, err)
	return value, err
}

// fileset returns the function that lists the regular files in a directory that match a
// glob.
func (w *Workspace) fileset(reads Reads) function.Function {
	typ := cty.Set(cty.String)
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "directory", Type: cty.String}, {Name: "glob", Type: cty.String}},
		Type:   function.StaticReturnType(typ),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			call := Call{Function: "fileset", Path: args[0].AsString(), Glob: args[1].AsString()}
			return w.evaluateCall(call, typ, reads, func() (cty.Value, error) {
				names, err := w.match(call.Path, call.Glob, reads, (*linkedFS).isRegularFile)
				if err != nil {
					return cty.NilVal, fmt.Errorf("cannot list %q in %q: %w", call.Glob, call.Path, err)
				}
				return stringSet(names), nil
			})
		},
	})
}

func stringSet(names []string) cty.Value {
	if len(names) == 0 {
		return cty.SetValEmpty(cty.String)
	}
	values := make([]cty.Value, len(names))
	for i, name := range names {
		values[i] = cty.StringVal(name)
	}
	return cty.SetVal(values)
}

// templatefile returns the function that evaluates a file as a template. The template
// sees only the given variables, and cannot call templatefile.
func (w *Workspace) templatefile(reads Reads, functions func() map[string]function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "variables", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name, vars := args[0].AsString(), args[1]
			if !vars.Type().IsObjectType() && !vars.Type().IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "a map of variables is needed")
			}
			text, err := w.evaluateCall(Call{Function: "templatefile", Path: name}, cty.String, reads, func() (cty.Value, error) {
				text, err := w.readText(name, reads)
				return cty.StringVal(text), err
			})
			if err != nil {
				return cty.NilVal, function.NewArgError(0, fmt.Errorf("cannot read %q: %w", name, err))
			}
			if !text.IsKnown() {
				return text, nil
			}
			return renderTemplate(name, text.AsString(), vars.AsValueMap(), functions())
		},
	})
}

func renderTemplate(name, text string, vars map[string]cty.Value, functions map[string]function.Function) (cty.Value, error) {
	if limits.Check([]byte(text), name) != nil {
		return cty.NilVal, fmt.Errorf("the template %q is nested too deep", name)
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(text), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%s: %s; %s", diags[0].Subject, diags[0].Summary, diags[0].Detail)
	}
	for _, traversal := range expr.Variables() {
		if _, ok := vars[traversal.RootName()]; !ok {
			return cty.NilVal, fmt.Errorf("%s: the template uses %q, which is not among the variables given: %s",
				traversal.SourceRange(), traversal.RootName(), suggest.Listing(maps.Keys(vars)))
		}
	}
	value, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%s: %s; %s", diags[0].Subject, diags[0].Summary, diags[0].Detail)
	}
	result, err := convert.Convert(value, cty.String) // unknown if a variable is
	if err != nil || result.IsNull() {
		return cty.NilVal, fmt.Errorf("the template %q does not give a text", name)
	}
	return result, nil
}
