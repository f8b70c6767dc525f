// Package codegen writes the Go code that the cashier does not write by hand:
// the data access for each table, from the live schema, and the instrumented
// service, from the service's interface.
package codegen

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/format"
	"strings"
	"text/template"

	"cashier/database"
)

// ErrUnsupported means that a table or an interface has a shape for which no
// code can be written.
var ErrUnsupported = errors.New("unsupported shape")

//go:embed table.go.tmpl
var tableTemplate string

//go:embed schema.go.tmpl
var schemaTemplate string

// field is a column as the template needs it.
type field struct {
	Column, Name, Type string
	References         string
}

// model is a table as the template needs it. The first column is the key.
type model struct {
	Table, Name string
	Fields      []field
}

// Store returns the files of package store by name: one for each table, and
// one of what they share.
func Store(tables []database.Table) (map[string][]byte, error) {
	files := make(map[string][]byte, len(tables)+1)
	models := make([]model, 0, len(tables))
	for _, table := range tables {
		m, err := newModel(table)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", table.Name, err)
		}
		models = append(models, m)
		if files[table.Name+".go"], err = render(tableTemplate, m); err != nil {
			return nil, fmt.Errorf("table %s: %w", table.Name, err)
		}
	}
	shared, err := render(schemaTemplate, models)
	if err != nil {
		return nil, fmt.Errorf("shared code of the store: %w", err)
	}
	files["schema.go"] = shared
	return files, nil
}

func newModel(table database.Table) (model, error) {
	m := model{Table: table.Name, Name: goName(strings.TrimSuffix(table.Name, "s"))}
	references := make(map[string]string, len(table.Foreign))
	for _, key := range table.Foreign {
		references[key.Column] = key.Table
	}
	for i, column := range table.Columns {
		if isKey := i == 0; isKey != column.Primary || isKey && column.Type != "INTEGER" {
			return model{}, fmt.Errorf("column %s: the first column, and no other, must be an INTEGER PRIMARY KEY: %w", column.Name, ErrUnsupported)
		}
		typ, err := goType(column)
		if err != nil {
			return model{}, err
		}
		m.Fields = append(m.Fields, field{column.Name, goName(column.Name), typ, references[column.Name]})
	}
	return m, nil
}

func goType(column database.Column) (string, error) {
	var typ string
	switch column.Type {
	case "INTEGER":
		typ = "int64"
	case "TEXT":
		typ = "string"
	default:
		return "", fmt.Errorf("column %s of type %q: %w", column.Name, column.Type, ErrUnsupported)
	}
	if column.Nullable {
		typ = "*" + typ
	}
	return typ, nil
}

// goName is the Go spelling of a snake_case name: player_id is PlayerID.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		switch {
		case word == "id":
			b.WriteString("ID")
		case word != "":
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

func render(text string, data any) ([]byte, error) {
	parsed, err := template.New("").Funcs(template.FuncMap{"columns": columns, "values": values}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parsing template: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("executing template: %w", err)
	}
	formatted, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("formatting generated code: %w", err)
	}
	return formatted, nil
}

// columns joins the column names of fields, each followed by suffix.
func columns(fields []field, suffix string) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Column + suffix
	}
	return strings.Join(names, ", ")
}

// values joins selectors of fields, each after prefix.
func values(fields []field, prefix string) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = prefix + f.Name
	}
	return strings.Join(names, ", ")
}
