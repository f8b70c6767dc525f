package codegen

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"
)

//go:embed instrumented.go.tmpl
var instrumentedTemplate string

// method is a method of the interface as the template needs it.
type method struct {
	Name, Parameters, Arguments, Result string
}

// Instrument returns a Go file with a type that implements the interface of
// the given name by calling another implementation and observing each call.
// Source is the file that declares the interface, in package service; name
// serves positions in errors only. Every method must return a value and an error;
// their names are returned too.
func Instrument(name string, source []byte, interfaceName string) ([]byte, []string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("parsing the service: %w", err)
	}
	declared := findInterface(file, interfaceName)
	if declared == nil {
		return nil, nil, fmt.Errorf("%s: no interface %s: %w", name, interfaceName, ErrUnsupported)
	}
	var methods []method
	var operations []string
	for _, field := range declared.Methods.List {
		m, err := newMethod(files, file.Name.Name, field)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", files.Position(field.Pos()), err)
		}
		methods = append(methods, m)
		operations = append(operations, m.Name)
	}
	code, err := render(instrumentedTemplate, struct {
		Interface string
		Methods   []method
	}{interfaceName, methods})
	return code, operations, err
}

func findInterface(file *ast.File, name string) *ast.InterfaceType {
	var found *ast.InterfaceType
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok && spec.Name.Name == name {
			found, _ = spec.Type.(*ast.InterfaceType)
		}
		return found == nil
	})
	return found
}

func newMethod(files *token.FileSet, pkg string, field *ast.Field) (method, error) {
	signature, ok := field.Type.(*ast.FuncType)
	if !ok || len(field.Names) != 1 {
		return method{}, fmt.Errorf("embedded interface: %w", ErrUnsupported)
	}
	if signature.Results.NumFields() != 2 {
		return method{}, fmt.Errorf("%s must return a value and an error: %w", field.Names[0].Name, ErrUnsupported)
	}
	m := method{Name: field.Names[0].Name}
	var parameters, arguments []string
	for _, parameter := range signature.Params.List {
		typ, err := qualified(files, pkg, parameter.Type)
		if err != nil {
			return method{}, err
		}
		for _, name := range parameter.Names {
			parameters = append(parameters, name.Name+" "+typ)
			arguments = append(arguments, name.Name)
		}
	}
	result, err := qualified(files, pkg, signature.Results.List[0].Type)
	if err != nil {
		return method{}, err
	}
	m.Parameters, m.Arguments, m.Result = strings.Join(parameters, ", "), strings.Join(arguments, ", "), result
	return m, nil
}

// qualified prints a type as another package must write it.
func qualified(files *token.FileSet, pkg string, typ ast.Expr) (string, error) {
	var out bytes.Buffer
	if err := printer.Fprint(&out, files, typ); err != nil {
		return "", fmt.Errorf("printing a type: %w", err)
	}
	if name, ok := typ.(*ast.Ident); ok && name.IsExported() {
		return pkg + "." + out.String(), nil
	}
	return out.String(), nil
}
