package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/schema"
	"prdrunner/pipeline/graph"
	"prdrunner/runner/feedback"
	"prdrunner/runner/notice"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

var update = flag.Bool("update", false, "write the schemas")

// root is the directory of the module.
const root = "../../.."

// printed are what commands print with --json, by the name of the schema. All may print a FailureReport instead.
func printed() map[string][]any {
	return map[string][]any{
		"status": {info.SessionStatus{}, info.StatusTableReport{}}, "why": {info.WhyReport{}, info.WhyBlockReport{}},
		"history": {info.HistoryReport{}}, "diff": {info.SessionDiffReport{}}, "outputs": {info.OutputsReport{}, info.OutputReport{}},
		"plan": {plan.Plan{}, info.RollbackPreviewReport{}}, "graph": {graph.Graph{}}, "validate": {info.PipelinesReport{}}, "config": {info.SettingsReport{}},
		"doctor": {info.DoctorReport{}}, "explain": {info.ExplanationReport{}}, "version": {info.BuildInfo{}},
		"report-message": {info.LedgerReport{}}, "report-conflict": {info.LedgerReport{}}, "report-knowledge": {info.LedgerReport{}},
		"state-get": {info.LedgerReport{}}, "state-list": {info.LedgerReport{}},
		"checkpoint-adopt": {info.AdoptReport{}}, "checkpoint-archive": {info.ArchiveReport{}}, "checkpoint-create": {info.CreatedReport{}},
		"checkpoint-delete": {info.PruneReport{}, info.DeletedSessionReport{}}, "checkpoint-diff": {info.DiffReport{}},
		"checkpoint-export": {info.ExportReport{}, info.ExchangeExport{}}, "checkpoint-import": {info.ImportReport{}, info.ExchangeImport{}},
		"checkpoint-list": {info.ListReport{}}, "checkpoint-migrate": {info.MigrationReport{}}, "checkpoint-pin": {info.PinReport{}}, "checkpoint-unpin": {info.PinReport{}},
		"checkpoint-prune": {info.PruneReport{}, info.PrunedRefsReport{}}, "checkpoint-rebuild": {info.RebuiltReport{}, info.RebuiltJournalReport{}},
		"checkpoint-rollback": {info.RollbackReport{}, info.RollbackPreviewReport{}}, "checkpoint-show": {info.CheckpointReport{}}, "checkpoint-validate": {info.ValidationReport{}},
		"safety-create": {info.SafetyCreatedReport{}}, "safety-list": {info.SafetyListReport{}}, "safety-show": {info.SafetyCreatedReport{}},
		"safety-verify": {info.SafetyVerifyReport{}}, "safety-restore": {info.SafetyRestoreReport{}}, "safety-delete": {info.SafetyRemovedReport{}}, "safety-prune": {info.SafetyRemovedReport{}},
	}
}

// written are the files that Runner writes for programs, by the name of the schema.
func written() map[string][]any {
	return map[string][]any{
		"plan-file": {plan.Plan{}}, "prd-document": {state.Document{}}, "checkpoint-file": {disk.CheckpointFile{}},
		"feedback": {feedback.Document{}}, "hook-event": {notice.Document{}},
	}
}

// TestSchemas compares the files with the types.
func TestSchemas(t *testing.T) {
	t.Parallel()
	want := map[string]*jsonschema.Schema{"runner-yaml": ofSettings(), "events": ofEvents(t)}
	for name, values := range printed() {
		want[name] = of(t, name, append(slices.Clone(values), info.FailureReport{})...)
	}
	for name, values := range written() {
		want[name] = of(t, name, values...)
	}
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), names); diff != "" && !*update {
		t.Errorf("there are other schemas (-want +got):\n%s", diff)
	}
	for name, s := range want {
		s.Version, s.ID, s.Title = jsonschema.Version, "", "runner: "+name
		data, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, '\n')
		path := filepath.Join("schemas", name+".json")
		if *update {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(data, got) {
			t.Errorf("%s is not that of the types (-update writes it): %v\n%s", path, err, cmp.Diff(string(data), string(got)))
		}
	}
}

// read remembers what was read of the sources.
var read struct {
	sync.Mutex
	comments  map[string]string
	constants map[reflect.Type][]any
	types     map[string]reflect.Type // of the definitions, by name
}

// reflector returns what makes schemas of types.
func reflector(t *testing.T) *jsonschema.Reflector {
	t.Helper()
	r := &jsonschema.Reflector{AllowAdditionalProperties: true, Anonymous: true, ExpandedStruct: true}
	r.CommentMap = commentsOfModule(t)
	r.Namer = func(typ reflect.Type) string {
		if typ.Name() == "" {
			return ""
		}
		name := filepath.Base(typ.PkgPath()) + "." + strings.NewReplacer("[", "-", "]", "", "/", ".").Replace(typ.Name())
		read.Lock()
		defer read.Unlock()
		if read.types == nil {
			read.types = map[string]reflect.Type{}
		}
		read.types[name] = typ
		return name
	}
	r.Mapper = func(typ reflect.Type) *jsonschema.Schema {
		switch typ {
		case reflect.TypeFor[json.Number](), reflect.TypeFor[ledger.USD]():
			return &jsonschema.Schema{Type: "number"}
		case reflect.TypeFor[json.RawMessage]():
			return &jsonschema.Schema{}
		case reflect.TypeFor[state.Text]():
			return &jsonschema.Schema{Ref: "#/$defs/" + textName}
		}
		if typ.Kind() == reflect.String && typ.PkgPath() != "" && strings.HasPrefix(typ.PkgPath(), "prdrunner/") {
			return &jsonschema.Schema{Type: "string", Enum: constants(t, typ)}
		}
		return nil
	}
	return r
}

// textName is the definition of state.Text.
const textName = "text.Text"

// ofText returns the schema of state.Text: a string, or where it is not UTF-8 its bytes.
func ofText() *jsonschema.Schema {
	encoded := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"base64"}, Description: "bytes that are not UTF-8"}
	encoded.Properties.Set("base64", &jsonschema.Schema{Type: "string", ContentEncoding: "base64"})
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, encoded}}
}

// reflectType returns the schema of a type, with null where a pointer is always written.
func reflectType(r *jsonschema.Reflector, v any) *jsonschema.Schema {
	s := r.Reflect(v)
	allowNull(s, reflect.TypeOf(v))
	read.Lock()
	defer read.Unlock()
	for name, definition := range s.Definitions {
		if typ := read.types[name]; typ != nil {
			allowNull(definition, typ)
		}
	}
	return s
}

// allowNull allows null for the fields of a struct that are pointers and always written.
func allowNull(s *jsonschema.Schema, typ reflect.Type) {
	if typ.Kind() != reflect.Struct || s.Properties == nil {
		return
	}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			allowNull(s, field.Type)
			continue
		}
		if field.Type.Kind() != reflect.Pointer || strings.Contains(options, "omit") {
			continue
		}
		if property, ok := s.Properties.Get(name); ok {
			about := property.Description
			property.Description = ""
			s.Properties.Set(name, &jsonschema.Schema{OneOf: []*jsonschema.Schema{property, {Type: "null"}}, Description: about})
		}
	}
}

// of returns the schema of what has one of some types.
func of(t *testing.T, name string, values ...any) *jsonschema.Schema {
	t.Helper()
	r := reflector(t)
	all := &jsonschema.Schema{Definitions: jsonschema.Definitions{textName: ofText()}}
	for _, v := range values {
		s := reflectType(r, v)
		maps.Copy(all.Definitions, s.Definitions)
		s.Definitions, s.Version = nil, ""
		all.AnyOf = append(all.AnyOf, s)
	}
	if len(values) == 1 {
		one := all.AnyOf[0]
		one.Definitions = all.Definitions
		return one
	}
	return all
}

// ofEvents returns the schema of a line that --output json prints: an event, or a line about the run.
func ofEvents(t *testing.T) *jsonschema.Schema {
	t.Helper()
	r := reflector(t)
	all := &jsonschema.Schema{Definitions: jsonschema.Definitions{textName: ofText()}, Type: "object"}
	all.Properties = jsonschema.NewProperties()
	all.Properties.Set("format_version", &jsonschema.Schema{Type: "string"})
	all.Properties.Set("seq", &jsonschema.Schema{Type: "integer", Description: "the number of the commit of an event"})
	all.Properties.Set("time", &jsonschema.Schema{Type: "string", Format: "date-time"})
	all.Required = []string{"format_version", "time", "kind"}
	add := func(kind string, v any) {
		s := reflectType(r, v)
		maps.Copy(all.Definitions, s.Definitions)
		s.Definitions, s.Version = nil, ""
		if s.Properties == nil {
			s.Properties = jsonschema.NewProperties()
		}
		s.Properties.Set("kind", &jsonschema.Schema{Type: "string", Const: kind})
		all.OneOf = append(all.OneOf, s)
	}
	kinds := constants(t, reflect.TypeFor[state.Kind]())
	if len(kinds) < 30 {
		t.Fatalf("there are only %d kinds of event", len(kinds))
	}
	for _, kind := range kinds {
		event, err := journal.DecodeEvent(state.Kind(kind.(string)), []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		add(kind.(string), event)
	}
	lines := view.JSONLines()
	for _, kind := range slices.Sorted(maps.Keys(lines)) {
		add(kind, lines[kind])
	}
	return all
}

// ofSettings returns the schema of runner.yaml.
func ofSettings() *jsonschema.Schema {
	all := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, k := range config.Keys() {
		in := all
		parts := strings.Split(k.Name, ".")
		for _, part := range parts[:len(parts)-1] {
			child, ok := in.Properties.Get(part)
			if !ok {
				child = &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
				in.Properties.Set(part, child)
			}
			in = child
		}
		typ, words := k.Type()
		s := &jsonschema.Schema{Type: typ, Description: k.Help}
		for _, word := range words {
			s.Enum = append(s.Enum, word)
		}
		if typ == "array" {
			s.Items = &jsonschema.Schema{Type: "string"}
		}
		in.Properties.Set(parts[len(parts)-1], s)
	}
	return all
}

// commentsOfModule returns the comments of the types of the module and of their fields, by the names that the reflector uses.
func commentsOfModule(t *testing.T) map[string]string {
	t.Helper()
	read.Lock()
	defer read.Unlock()
	if read.comments != nil {
		return read.comments
	}
	found := map[string]string{}
	for _, dir := range packages() {
		fset := token.NewFileSet()
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				decl, ok := n.(*ast.GenDecl)
				if !ok || decl.Tok != token.TYPE {
					return true
				}
				for _, spec := range decl.Specs {
					typ := spec.(*ast.TypeSpec)
					name := "prdrunner/" + dir + "." + typ.Name.Name
					found[name] = firstSentences(decl.Doc.Text())
					fields, ok := typ.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, field := range fields.Fields.List {
						for _, id := range field.Names {
							found[name+"."+id.Name] = firstSentences(field.Doc.Text() + field.Comment.Text())
						}
					}
				}
				return true
			})
		}
	}
	read.comments = found
	return found
}

// firstSentences returns a comment in one line.
func firstSentences(comment string) string { return strings.Join(strings.Fields(comment), " ") }

// packages are the directories of the packages whose types are written.
func packages() []string {
	return []string{
		"checkpoint", "checkpoint/archive", "checkpoint/compare", "checkpoint/disk", "checkpoint/exchange", "checkpoint/history", "checkpoint/ledger", "checkpoint/prune", "checkpoint/repair",
		"checkpoint/rollback", "checkpoint/safety", "checkpoint/state", "checkpoint/text", "checkpoint/transfer", "checkpoint/validate", "checkpoint/workspace", "checkpoint/savepoint",
		"cmd/runner/advice", "cmd/runner/config", "cmd/runner/info", "pipeline", "pipeline/diagnostics", "pipeline/graph", "runner", "runner/feedback", "runner/notice", "runner/plan", "runner/view", "runner/why",
	}
}

// constants returns the texts of the constants of a type, sorted.
func constants(t *testing.T, typ reflect.Type) []any {
	t.Helper()
	read.Lock()
	defer read.Unlock()
	if known, ok := read.constants[typ]; ok {
		return known
	}
	dir := filepath.Join(root, strings.TrimPrefix(typ.PkgPath(), "prdrunner/"))
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				id, ok := value.Type.(*ast.Ident)
				if !ok || id.Name != typ.Name() {
					continue
				}
				for _, v := range value.Values {
					if lit, ok := v.(*ast.BasicLit); ok {
						text, err := strconv.Unquote(lit.Value)
						if err != nil {
							t.Fatal(err)
						}
						found = append(found, text)
					}
				}
			}
		}
	}
	slices.Sort(found)
	all := make([]any, 0, len(found))
	for _, text := range slices.Compact(found) {
		all = append(all, text)
	}
	if read.constants == nil {
		read.constants = map[reflect.Type][]any{}
	}
	read.constants[typ] = all
	return all
}
