package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// variables are the variables of a process's environment. Later ones have precedence.
type variables []envVariable

// envVariable is an element of env, all of an env that is not written out, or an env_file.
// Each element is an argument of its own, so that it counts in digests by itself, wherever
// it is inherited from.
type envVariable struct {
	name  string // "": the value is a map, or the paths of files
	value *argument
}

// isFile reports whether the variables stand in dotenv files.
func (v envVariable) isFile() bool { return v.value.name == envFileArgument }

// label is the name in digests and in differences.
func (v envVariable) label() string {
	if v.name == "" {
		return "env"
	}
	return "env." + v.name
}

// variables decodes the arguments env_file and env of a block, of which env has precedence.
func (d *decoder) variables(content *hclsyntax.Body) variables {
	var all variables
	if file := d.argument(content, envFileArgument); file != nil {
		all = variables{{value: file}}
	}
	if env := d.argument(content, "env"); env != nil {
		all = append(all, d.elements(env)...)
	}
	return all
}

// elements returns a variable for each element of an env that the file writes out, with
// literal names. Any other env is returned as a whole.
func (d *decoder) elements(env *argument) variables {
	object, ok := withoutParentheses(env.expr).(*hclsyntax.ObjectConsExpr)
	if !ok {
		return variables{{value: env}}
	}
	elements := make(variables, 0, len(object.Items))
	for _, item := range object.Items {
		name := literalKey(item.KeyExpr)
		if name == "" || elements.has(name) {
			return variables{{value: env}}
		}
		elements = append(elements, envVariable{name, newArgument(env.name, env.nameRange, item.ValueExpr, d.source)})
	}
	return elements
}

// literalKey returns the key of an element that needs no evaluation, "" for any other.
func literalKey(key hclsyntax.Expression) string {
	expr, ok := key.(*hclsyntax.ObjectConsKeyExpr)
	if !ok || expr.ForceNonLiteral {
		return ""
	}
	if name := hcl.ExprAsKeyword(expr.Wrapped); name != "" {
		return name
	}
	if text, ok := expr.Wrapped.(*hclsyntax.TemplateExpr); ok && text.IsStringLiteral() {
		if value, diags := text.Value(nil); !diags.HasErrors() {
			return value.AsString()
		}
	}
	return ""
}

func (vs variables) has(name string) bool {
	return slices.ContainsFunc(vs, func(v envVariable) bool { return v.name == name })
}

// over returns the variables with those of base, over which they have precedence.
func (vs variables) over(base variables) variables {
	if len(base) == 0 {
		return vs
	}
	all := make(variables, 0, len(base)+len(vs))
	for _, v := range base {
		if v.name == "" || !vs.has(v.name) {
			all = append(all, v)
		}
	}
	return append(all, vs...)
}

// setVariables adds the value of an element of env, or of all of it, to the environment.
func (ev *evaluation) setVariables(v envVariable, value cty.Value) error {
	if v.name != "" {
		return ev.setVariable(v.name, v.value, value)
	}
	typ := value.Type()
	isMap := typ.IsMapType() || typ.IsObjectType()
	switch {
	case value.IsNull():
		return nil
	case !value.IsKnown() && (typ == cty.DynamicPseudoType || isMap):
		return nil
	case !isMap:
		return errNotMap
	}
	for it := value.ElementIterator(); it.Next(); {
		name, elem := it.Element()
		if err := ev.setVariable(name.AsString(), v.value, elem); err != nil {
			return err
		}
	}
	return nil
}

// setVariable sets a variable of the environment. A value that is null removes it, if the
// process inherits it.
func (ev *evaluation) setVariable(name string, from *argument, value cty.Value) error {
	if err := checkEnvName(name); err != nil {
		return err
	}
	if value.IsKnown() && value.IsNull() {
		ev.set(name, from, "")
		delete(ev.env, name)
		return nil
	}
	text, err := toText(value)
	if err == nil && strings.ContainsRune(text, 0) {
		err = errNUL
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	ev.set(name, from, text)
	return nil
}

// set sets a variable of the environment.
func (ev *evaluation) set(name string, from *argument, text string) {
	if ev.env == nil {
		ev.env, ev.envFrom = map[string]string{}, map[string]*argument{}
	}
	ev.env[name], ev.envFrom[name] = text, from
}

func checkEnvName(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return errEnvName
	case strings.HasPrefix(name, "RUNNER_"):
		return fmt.Errorf("%s: %w", name, errReservedEnv)
	}
	return nil
}

// shownEnv returns the variables that count by their values.
func (ev *evaluation) shownEnv() map[string]string {
	env := make(map[string]string, len(ev.env))
	for name, text := range ev.env {
		if !slices.Contains(ev.opaque, ev.envFrom[name]) {
			env[name] = text
		}
	}
	return env
}

// opaqueEnv returns the elements of env that do not count by their values, in an order that
// does not depend on where the process has them from.
func (p *processDef) opaqueEnv(ev *evaluation) []envVariable {
	var all []envVariable
	for _, v := range p.env {
		replaced := v.name != "" && ev.envFrom[v.name] != v.value
		if !replaced && !v.isFile() && slices.Contains(ev.opaque, v.value) {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b envVariable) int { return strings.Compare(a.name, b.name) })
	return all
}

// addEnvToDigest adds the environment to a digest. Of dotenv files, it adds the paths and
// the names of the variables.
func (p *processDef) addEnvToDigest(h *hasher, ev *evaluation, fr frame) {
	for _, file := range ev.envFiles {
		h.writeList(envFileArgument, append([]string{file.path}, file.names...))
	}
	for _, v := range p.opaqueEnv(ev) {
		p.scope.sumOpaque(h, v.label(), v.value, fr)
	}
	if shown := ev.shownEnv(); len(shown) > 0 {
		h.writeList("env", pairsOf(shown))
	}
}

// pairsOf returns names and values, sorted by name.
func pairsOf(env map[string]string) []string {
	pairs := make([]string, 0, 2*len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		pairs = append(pairs, name, env[name])
	}
	return pairs
}
