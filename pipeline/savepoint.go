package pipeline

import (
	"iter"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// savepointBlock is a savepoint as the file has it.
type savepointBlock struct {
	name   string
	block  *hclsyntax.Block
	driver *argument
	url    *argument
	method *argument
}

var savepointSchema = &hcl.BodySchema{
	Attributes: append(attributes("method"), hcl.AttributeSchema{Name: "driver", Required: true}, hcl.AttributeSchema{Name: "url", Required: true}),
}

func (d *decoder) decodeSavepoint(block *hclsyntax.Block) *savepointBlock {
	content := d.content(block.Body, savepointSchema)
	return &savepointBlock{
		name:   d.identifier(block),
		block:  block,
		driver: d.argument(content, "driver"),
		url:    d.argument(content, "url"),
		method: d.argument(content, "method"),
	}
}

// Savepoint is a database that protect blocks save and restore.
type Savepoint struct {
	Name   string
	Driver Driver
	Method SaveMethod
	Range  hcl.Range

	url       string // "" if a variable has no value
	sensitive bool   // the url holds a sensitive value
}

// Driver is a kind of database.
type Driver string

// The kinds of databases.
const (
	Postgres Driver = "postgres"
	MySQL    Driver = "mysql" // and MariaDB
	SQLite   Driver = "sqlite"
)

// SaveMethod says how a database is saved.
type SaveMethod string

// The methods of saving a database.
const (
	SaveDump     SaveMethod = "dump"     // as SQL or, for SQLite, as a file
	SaveTemplate SaveMethod = "template" // as a second database, by PostgreSQL itself
)

// URL returns the place of the database. If it is sensitive, it must neither be shown nor
// stored. It is "" if the pipeline was evaluated without a variable in it.
func (s *Savepoint) URL() (url string, sensitive bool) { return s.url, s.sensitive }

// database identifies the database of the savepoint, as far as its url tells.
func (s *Savepoint) database() string {
	if s.url == "" {
		return s.Name
	}
	return string(s.Driver) + "\x00" + s.url
}

// Savepoint returns the savepoint with the given name, or nil.
func (p *Pipeline) Savepoint(name string) *Savepoint {
	for _, s := range p.Savepoints {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// buildSavepoints evaluates the savepoints.
func buildSavepoints(b *builder, blocks []*savepointBlock) {
	for _, block := range blocks {
		if first := b.pipeline.Savepoint(block.name); first != nil {
			b.errorf("Duplicate savepoint name", block.block.LabelRanges[0], "The name %q is already taken by the savepoint at line %d; rename one of them.", block.name, first.Range.Start.Line)
			continue
		}
		b.pipeline.Savepoints = append(b.pipeline.Savepoints, buildSavepoint(b, block))
	}
}

func buildSavepoint(b *builder, block *savepointBlock) *Savepoint {
	fr := constantFrame(noEach)
	s := &Savepoint{
		Name:   block.name,
		Driver: oneOf(b, block.driver, fr, "", Postgres, MySQL, SQLite),
		Method: oneOf(b, block.method, fr, SaveDump, SaveDump, SaveTemplate),
		Range:  block.block.DefRange(),
	}
	if s.Method == SaveTemplate && s.Driver != Postgres && s.Driver != "" {
		b.errorf("Template without PostgreSQL", block.method.exprRange(), `Only PostgreSQL can keep a copy of a database as a template; %q cannot. Remove "method", or write method = "dump".`, string(s.Driver))
	}
	requireText(b, block.driver, fr)
	s.url, s.sensitive = requireText(b, block.url, fr)
	return s
}

// requireText evaluates a text that a savepoint needs and that may be sensitive. It returns
// "" after a mistake, and if the value is not known.
func requireText(b *builder, a *argument, fr frame) (text string, sensitive bool) {
	if a == nil {
		return "", false // the decoder reports it
	}
	value, ok := b.evaluate(a, fr, cty.String)
	if !ok {
		return "", false
	}
	value, sensitive = withoutMarks(value)
	switch {
	case !value.IsKnown():
	case value.IsNull() || value.AsString() == "":
		b.errorf("Missing required argument", a.exprRange(), "A savepoint needs a %q, and its value is empty.", a.name)
	default:
		return value.AsString(), sensitive
	}
	return "", sensitive
}

// savepointNames resolves references to savepoints.
func savepointNames(b *builder, references []*argument) []string {
	var names []string
	for _, a := range references {
		name := a.refs[0].name
		if b.pipeline.Savepoint(name) == nil {
			b.errorf("Unknown savepoint", a.exprRange(), "The pipeline declares no savepoint %q.%s", name, suggest.DidYouMean(name, savepointsOf(b.pipeline)))
			continue
		}
		names = appendNew(names, []string{name})
	}
	return names
}

func savepointsOf(p *Pipeline) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range p.Savepoints {
			if !yield(s.Name) {
				return
			}
		}
	}
}
