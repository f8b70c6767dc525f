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
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"prdrunner/pipeline/glob"
	"prdrunner/pipeline/limits"
	"prdrunner/pipeline/suggest"
)

// maxContent is the largest size of a file that becomes part of a value.
const maxContent = 4 << 20

var (
	errNoWorkspace = errors.New("no workspace is known, so files cannot be read")
	errOutsideRoot = errors.New("the path must be relative to the workspace, and must not lead out of it")
	errNotRegular  = errors.New("this is not a regular file")
	errTooLarge    = errors.New("the file is larger than 4 MiB; name it in \"inputs\" instead")
)

// workspaceFiles gives functions access to the files of a workspace. It caches results,
// so that a pipeline means the same however often it is evaluated.
type workspaceFiles struct {
	dir    string
	hidden func(path string) bool // nil: no path is hidden
	links  Links                  // nil: the workspace has no links
	before Files                  // earlier contents, read instead of the present ones
	cache  sync.Map               // fileCall → cty.Value, or the text of a template
}

// fileCall is one call of a function that reads files.
type fileCall struct {
	function string
	path     string
	glob     string // of fileset: relative to the path
}

// readsFiles reports whether the function with this name reads files.
func readsFiles(name string) bool {
	switch name {
	case "file", "filebase64", "filesha256", "fileexists", "fileset", "templatefile":
		return true
	}
	return false
}

func newWorkspaceFiles(in Inputs) *workspaceFiles {
	return &workspaceFiles{dir: in.Workspace, hidden: in.Hidden, links: in.Links, before: in.before}
}

// functions returns the functions that read files, for one evaluation. They record their
// calls in reads, unless it is nil. Others are the functions that templates may also
// call.
func (w *workspaceFiles) functions(others map[string]function.Function, reads *fileReads) map[string]function.Function {
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
func (w *workspaceFiles) reader(called string, typ cty.Type, reads *fileReads, read func(name string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(typ),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			call := fileCall{function: called, path: args[0].AsString()}
			return w.evaluateCall(call, typ, reads, func() (cty.Value, error) {
				value, err := read(call.path)
				if err != nil {
					return cty.NilVal, function.NewArgError(0, fmt.Errorf("cannot read %q: %w", call.path, err))
				}
				return value, nil
			})
		},
	})
}

// evaluateCall returns the value of a call, from the cache if it was made before. If the
// call reads an artifact of a workstream, the value is not cached, and is unknown until
// the workstream has completed.
func (w *workspaceFiles) evaluateCall(call fileCall, typ cty.Type, reads *fileReads, read func() (cty.Value, error)) (cty.Value, error) {
	made, there := reads.checkCall(call)
	if !there {
		return cty.UnknownVal(typ), nil
	}
	if made {
		value, err := read()
		reads.recordCall(call, value, err)
		return value, err
	}
	if known, ok := w.cache.Load(call); ok {
		reads.recordCall(call, known.(cty.Value), nil)
		return known.(cty.Value), nil
	}
	value, err := read()
	if err == nil {
		kept, _ := w.cache.LoadOrStore(call, value)
		value = kept.(cty.Value)
	}
	reads.recordCall(call, value, err)
	return value, err
}

// openFile opens a regular file. It follows links only inside the workspace.
func (w *workspaceFiles) openFile(name string, reads *fileReads) (io.ReadCloser, error) {
	if restored := w.restored(name, reads); restored != nil {
		return restored()
	}
	if open, known := w.earlierFile(name); open != nil {
		return open()
	} else if known {
		return nil, fs.ErrNotExist
	}
	root, name, err := w.openRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	// Stat comes first, because opening a named pipe could block.
	info, err := root.Stat(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	return file, nil
}

// restored returns a function that opens an artifact that Runner will restore before
// anything runs. It returns nil for any other path.
func (w *workspaceFiles) restored(name string, reads *fileReads) func() (io.ReadCloser, error) {
	restored := reads.restored()
	if open := restored[path.Clean(name)]; open != nil || len(restored) == 0 || !glob.Inside(name) {
		return open
	}
	return restored[w.target(path.Clean(name))]
}

// earlierFile returns a function that opens the earlier file at a path, or nil if there
// was no file. It returns false if the file is not known to differ from the present one.
func (w *workspaceFiles) earlierFile(name string) (open func() (io.ReadCloser, error), known bool) {
	if len(w.before) == 0 || !glob.Inside(name) {
		return nil, false
	}
	if open, known = w.before[path.Clean(name)]; !known {
		open, known = w.before[w.target(path.Clean(name))]
	}
	return open, known
}

// target returns a path to the same file without links in it.
func (w *workspaceFiles) target(name string) string {
	if w.links == nil {
		return name
	}
	return w.links.Target(name)
}

func (w *workspaceFiles) openRoot(name string) (*os.Root, string, error) {
	if w.dir == "" {
		return nil, "", errNoWorkspace
	}
	if !glob.Inside(name) {
		return nil, "", errOutsideRoot
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, "", withoutPath(err)
	}
	name = path.Clean(name)
	if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		name = w.target(name) // os.Root follows no absolute link, not even one into the workspace
	}
	return root, name, nil
}

// withoutPath removes the path from an error, because the path depends on the machine.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func (w *workspaceFiles) readFile(name string, reads *fileReads) ([]byte, error) {
	file, err := w.openFile(name, reads)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(io.LimitReader(file, maxContent+1))
	if err == nil && len(data) > maxContent {
		err = errTooLarge
	}
	return data, withoutPath(err)
}

func (w *workspaceFiles) readText(name string, reads *fileReads) (string, error) {
	data, err := w.readFile(name, reads)
	if err == nil && !utf8.Valid(data) {
		return "", errors.New("the file is not valid UTF-8; use filebase64")
	}
	return string(data), err
}

func (w *workspaceFiles) checksum(name string, reads *fileReads) (string, error) {
	file, err := w.openFile(name, reads)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it is only read
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", withoutPath(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (w *workspaceFiles) exists(name string, reads *fileReads) (bool, error) {
	if w.restored(name, reads) != nil {
		return true, nil
	}
	if open, known := w.earlierFile(name); known {
		return open != nil, nil
	}
	root, name, err := w.openRoot(name)
	if err != nil {
		return false, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, withoutPath(err)
	}
	return info.Mode().IsRegular(), nil
}

// fileset returns the function that lists the regular files in a directory that match a
// glob.
func (w *workspaceFiles) fileset(reads *fileReads) function.Function {
	typ := cty.Set(cty.String)
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "directory", Type: cty.String}, {Name: "glob", Type: cty.String}},
		Type:   function.StaticReturnType(typ),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			call := fileCall{function: "fileset", path: args[0].AsString(), glob: args[1].AsString()}
			return w.evaluateCall(call, typ, reads, func() (cty.Value, error) {
				names, err := w.match(call.path, call.glob, reads, (*linkedFS).isRegularFile)
				if err != nil {
					return cty.NilVal, fmt.Errorf("cannot list %q in %q: %w", call.glob, call.path, err)
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

// match returns the names, relative to a directory, that match a pattern and that a
// function accepts. A name may be listed twice.
func (w *workspaceFiles) match(dir, pattern string, reads *fileReads, accepts func(l *linkedFS, name string) bool) ([]string, error) {
	switch problem, outside := glob.Check(pattern); {
	case outside || glob.IsExclusion(pattern):
		return nil, errors.New("this is not a relative glob")
	case problem != "":
		return nil, fmt.Errorf("this is not a valid glob; %s", problem)
	}
	root, dir, err := w.openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	below, err := fs.Sub(root.FS(), dir)
	if err != nil {
		return nil, withoutPath(err)
	}
	files := &linkedFS{FS: below, root: root.FS(), workspace: w.dir, dir: dir, hidden: w.hidden, real: make(map[string]string), entered: make(map[string]string)}
	var names []string
	for _, pattern := range glob.WithDirectory(pattern) {
		more, err := doublestar.Glob(files, pattern, doublestar.WithFilesOnly())
		if err != nil {
			return nil, withoutPath(err)
		}
		names = append(names, more...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !accepts(files, name) || !utf8.ValidString(name) })
	if len(reads.restored()) > 0 || len(w.before) > 0 {
		dir = path.Clean(w.target(dir)) // the target of "." is ""
	}
	for name, open := range w.before {
		if below, ok := matchBelow(dir, pattern, name); ok && open != nil {
			names = append(names, below) // duplicates are harmless in a set
		} else if ok {
			names = slices.DeleteFunc(names, func(n string) bool { return n == below })
		}
	}
	for name := range reads.restored() {
		if below, ok := matchBelow(dir, pattern, name); ok {
			names = append(names, below)
		}
	}
	return names, nil
}

// matchBelow returns the path of a file relative to a directory, and whether the file is
// in the directory and matches a pattern.
func matchBelow(dir, pattern, name string) (below string, ok bool) {
	if below, ok = strings.CutPrefix("/"+name, path.Join("/", dir)+"/"); dir == "." {
		below, ok = name, true
	}
	return below, ok && slices.ContainsFunc(glob.WithDirectory(pattern), func(p string) bool { return doublestar.MatchUnvalidated(p, below) })
}

// templatefile returns the function that evaluates a file as a template. The template
// sees only the given variables, and cannot call templatefile.
func (w *workspaceFiles) templatefile(reads *fileReads, functions func() map[string]function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "variables", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name, vars := args[0].AsString(), args[1]
			if !vars.Type().IsObjectType() && !vars.Type().IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "a map of variables is needed")
			}
			text, err := w.evaluateCall(fileCall{function: "templatefile", path: name}, cty.String, reads, func() (cty.Value, error) {
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
