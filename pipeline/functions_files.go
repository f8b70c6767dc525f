package pipeline

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxContent bounds the files that become part of a value.
const maxContent = 4 << 20

var (
	errNoWorkspace = errors.New("no workspace is known, so files cannot be read")
	errOutsideRoot = errors.New("the path must be relative to the workspace, and must not lead out of it")
	errNotRegular  = errors.New("this is not a regular file")
	errTooLarge    = errors.New("the file is larger than 4 MiB; name it in \"inputs\" instead")
)

// workspaceFiles are the files that functions can read. What was read once is
// kept, so that a pipeline means the same however often it is evaluated.
type workspaceFiles struct {
	dir    string
	hidden func(path string) bool // nil: nothing is
	cache  sync.Map               // function and path → func() (result, error)
}

func newWorkspaceFiles(in Inputs) *workspaceFiles {
	return &workspaceFiles{dir: in.Workspace, hidden: in.Hidden}
}

// functions returns the functions that read files. The others are those that
// a template can use.
func (w *workspaceFiles) functions(others map[string]function.Function) map[string]function.Function {
	functions := map[string]function.Function{
		"file": w.reader(cty.String, func(name string) (cty.Value, error) {
			text, err := w.text(name)
			return cty.StringVal(text), err
		}),
		"filebase64": w.reader(cty.String, func(name string) (cty.Value, error) {
			data, err := w.read(name)
			return cty.StringVal(base64.StdEncoding.EncodeToString(data)), err
		}),
		"filesha256": w.reader(cty.String, func(name string) (cty.Value, error) {
			sum, err := w.sum(name)
			return cty.StringVal(sum), err
		}),
		"fileexists": w.reader(cty.Bool, func(name string) (cty.Value, error) {
			ok, err := w.exists(name)
			return cty.BoolVal(ok), err
		}),
		"fileset": w.fileset(),
	}
	inTemplates := maps.Clone(others)
	maps.Copy(inTemplates, functions)
	functions["templatefile"] = w.templatefile(inTemplates)
	return functions
}

// reader is a function of a path.
func (w *workspaceFiles) reader(typ cty.Type, read func(name string) (cty.Value, error)) function.Function {
	var cache sync.Map
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(typ),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			if known, ok := cache.Load(name); ok {
				return known.(cty.Value), nil
			}
			value, err := read(name)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, fmt.Errorf("cannot read %q: %w", name, err))
			}
			kept, _ := cache.LoadOrStore(name, value)
			return kept.(cty.Value), nil
		},
	})
}

// open opens a regular file. Links are followed inside the workspace only.
func (w *workspaceFiles) open(name string) (*os.File, error) {
	root, name, err := w.root(name)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read from
	// Looking first keeps a named pipe from blocking the open.
	info, err := root.Stat(name)
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := root.Open(name)
	return file, cause(err)
}

func (w *workspaceFiles) root(name string) (*os.Root, string, error) {
	if w.dir == "" {
		return nil, "", errNoWorkspace
	}
	if !inside(name) {
		return nil, "", errOutsideRoot
	}
	root, err := os.OpenRoot(w.dir)
	return root, path.Clean(name), cause(err)
}

// cause takes the path off an error, which would be that of this machine.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func (w *workspaceFiles) read(name string) ([]byte, error) {
	file, err := w.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read from
	data, err := io.ReadAll(io.LimitReader(file, maxContent+1))
	if err == nil && len(data) > maxContent {
		err = errTooLarge
	}
	return data, cause(err)
}

func (w *workspaceFiles) text(name string) (string, error) {
	data, err := w.read(name)
	if err == nil && !utf8.Valid(data) {
		return "", errors.New("the file is not valid UTF-8; use filebase64")
	}
	return string(data), err
}

func (w *workspaceFiles) sum(name string) (string, error) {
	file, err := w.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it is only read from
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", cause(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (w *workspaceFiles) exists(name string) (bool, error) {
	root, name, err := w.root(name)
	if err != nil {
		return false, err
	}
	defer root.Close() //nolint:errcheck // it is only read from
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, cause(err)
	}
	return info.Mode().IsRegular(), nil
}

// fileset is the set of the regular files in a directory that match a glob.
func (w *workspaceFiles) fileset() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "directory", Type: cty.String}, {Name: "glob", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			dir, pattern := args[0].AsString(), args[1].AsString()
			if known, ok := w.cache.Load([2]string{dir, pattern}); ok {
				return known.(cty.Value), nil
			}
			names, err := w.match(dir, pattern)
			if err != nil {
				return cty.NilVal, fmt.Errorf("cannot list %q in %q: %w", pattern, dir, err)
			}
			value := cty.SetValEmpty(cty.String)
			if len(names) > 0 {
				values := make([]cty.Value, len(names))
				for i, name := range names {
					values[i] = cty.StringVal(name)
				}
				value = cty.SetVal(values)
			}
			kept, _ := w.cache.LoadOrStore([2]string{dir, pattern}, value)
			return kept.(cty.Value), nil
		},
	})
}

func (w *workspaceFiles) match(dir, pattern string) ([]string, error) {
	switch problem, outside := globProblem(pattern); {
	case outside || isExclusion(pattern):
		return nil, errors.New("this is not a relative glob")
	case problem != "":
		return nil, fmt.Errorf("this is not a valid glob; %s", problem)
	}
	root, dir, err := w.root(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read from
	below, err := fs.Sub(root.FS(), dir)
	if err != nil {
		return nil, cause(err)
	}
	files := &linkedFS{FS: below, workspace: w.dir, dir: dir, hidden: w.hidden, real: make(map[string]string), entered: make(map[string]string)}
	var names []string
	for _, pattern := range withDirectory(pattern) {
		more, err := doublestar.Glob(files, pattern, doublestar.WithFilesOnly())
		if err != nil {
			return nil, cause(err)
		}
		names = append(names, more...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !files.holds(name) || !utf8.ValidString(name) }), nil
}

// templatefile evaluates a file as a template. It sees just the variables that
// it is given, and cannot call templatefile itself.
func (w *workspaceFiles) templatefile(functions map[string]function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "variables", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name, vars := args[0].AsString(), args[1]
			if !vars.Type().IsObjectType() && !vars.Type().IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "a map of variables is needed")
			}
			text, err := w.template(name)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, fmt.Errorf("cannot read %q: %w", name, err))
			}
			return renderTemplate(name, text, vars.AsValueMap(), functions)
		},
	})
}

// template reads the text of a template once.
func (w *workspaceFiles) template(name string) (string, error) {
	if known, ok := w.cache.Load(name); ok {
		return known.(string), nil
	}
	text, err := w.text(name)
	if err != nil {
		return "", err
	}
	kept, _ := w.cache.LoadOrStore(name, text)
	return kept.(string), nil
}

func renderTemplate(name, text string, vars map[string]cty.Value, functions map[string]function.Function) (cty.Value, error) {
	if tooDeep([]byte(text), name) != nil {
		return cty.NilVal, fmt.Errorf("the template %q is nested too deep", name)
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(text), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%s: %s; %s", diags[0].Subject, diags[0].Summary, diags[0].Detail)
	}
	for _, traversal := range expr.Variables() {
		if _, ok := vars[traversal.RootName()]; !ok {
			return cty.NilVal, fmt.Errorf("%s: the template uses %q, which is not among the variables given: %s",
				traversal.SourceRange(), traversal.RootName(), listing(maps.Keys(vars)))
		}
	}
	value, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%s: %s; %s", diags[0].Subject, diags[0].Summary, diags[0].Detail)
	}
	text, err := toText(value)
	if err != nil {
		return cty.NilVal, fmt.Errorf("the template %q does not give a text", name)
	}
	return cty.StringVal(text), nil
}
