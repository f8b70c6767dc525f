package lsp

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"prdrunner/pipeline"
)

// complete returns what can be written at a place.
func (s *server) complete(d *document, p positionParams) (completionList, error) {
	offset := d.text.offset(p.Position)
	c := cursorAt(d.source, offset)
	l := &completions{server: s, document: d, cursor: c, list: completionList{Items: []completionItem{}}}
	var err error
	switch {
	case c.inString:
		err = l.texts()
	case c.argument == "":
		l.body()
	case len(c.path) > 0:
		err = l.following()
	default:
		l.expression()
	}
	return l.list, err
}

// completions collects what can be written at a cursor.
type completions struct {
	server   *server
	document *document
	cursor   cursor
	list     completionList
}

// add adds an item that replaces what is there already of the word.
func (l *completions) add(item completionItem, text string) {
	item.TextEdit = &textEdit{l.document.text.span(l.cursor.start, l.cursor.offset), text}
	l.list.Items = append(l.list.Items, item)
}

// body adds the arguments and blocks that may stand in the block.
func (l *completions) body() {
	block := l.cursor.block()
	body, ok := pipeline.BodyOf(block)
	if !ok {
		return
	}
	given, m := l.given(), l.server.manual()
	for _, argument := range body.Arguments {
		if given[argument] {
			continue
		}
		item := completionItem{Label: argument, Kind: kindProperty, Detail: "argument"}
		if slices.Contains(body.Required, argument) {
			item.Detail, item.SortText = "required argument", "0"+argument
		}
		item.describe(m.about(block, argument))
		l.add(item, argument+" = ")
	}
	for _, nested := range body.Blocks {
		item := completionItem{Label: nested.Type, Kind: kindModule, Detail: "block"}
		item.describe(m.about(block, nested.Type))
		l.add(l.withPlaces(item, nested))
	}
}

// withPlaces returns the item for a block, and the text to insert. If the editor can do that, its labels are filled in one
// after the other.
func (l *completions) withPlaces(item completionItem, nested pipeline.Nested) (completionItem, string) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	text := nested.Type
	for i, label := range nested.Labels {
		if l.server.snippets {
			text += fmt.Sprintf(` "${%d:%s}"`, i+1, label)
		} else {
			text += ` "` + label + `"`
		}
	}
	if !l.server.snippets {
		return item, text + " {"
	}
	item.InsertTextFormat = 2
	return item, text + " {\n  $0\n}"
}

func (item *completionItem) describe(text string) {
	if text = strings.TrimSpace(text); text != "" {
		m := markdown(text)
		item.Documentation = &m
	}
}

// given returns the arguments that the block around the cursor has, without the one that is being written.
func (l *completions) given() map[string]bool {
	given := map[string]bool{}
	for _, a := range l.document.outline().at(l.cursor.offset).arguments {
		given[a.name] = a.from != l.cursor.start
	}
	return given
}

// expression adds what an expression can begin with.
func (l *completions) expression() {
	m := l.server.manual()
	for _, root := range pipeline.Roots(l.cursor.argument) {
		item := completionItem{Label: root, Kind: kindVariable, Detail: "reference", SortText: "0" + root}
		item.describe(m.references[root])
		l.add(item, root)
	}
	functions := pipeline.Functions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		item := completionItem{Label: name, Kind: kindFunction, Detail: signature(name, functions[name]), SortText: "1" + name}
		item.describe(functions[name].Description())
		l.add(item, name)
	}
	for _, word := range []string{"true", "false", "null"} {
		l.add(completionItem{Label: word, Kind: kindKeyword, SortText: "2" + word}, word)
	}
}

// following adds what can follow the dots of a reference.
func (l *completions) following() error {
	root, deep := l.cursor.path[0], len(l.cursor.path)
	if deep > 2 {
		return nil
	}
	names := pipeline.Following(root, deep == 2)
	var err error
	if kind := pipeline.Declares(root); kind != "" && deep == 1 {
		var files []*source
		files, err = l.server.family(l.document)
		names = declared(files, kind)
	}
	for _, name := range names {
		l.add(completionItem{Label: name, Kind: kindField, Detail: strings.Join(l.cursor.path, ".") + "." + name}, name)
	}
	return err
}

// texts adds what a text in quotes may be: one of a few words, or a file.
func (l *completions) texts() error {
	c := l.cursor
	words, known := pipeline.Words(c.block(), c.argument)
	for _, word := range words {
		l.add(completionItem{Label: word, Kind: kindValue}, word)
	}
	if known || !pipeline.NamesFiles(c.argument, c.call) {
		return nil
	}
	w, err := l.server.workspaceOf(l.document)
	if err != nil {
		return err
	}
	dir, prefix := path.Split(c.prefix)
	entries, err := os.ReadDir(w.env.Path(dir))
	if err != nil {
		return nil //nolint:nilerr // there is nothing to complete in a directory that is not there
	}
	for _, e := range entries {
		if hidden := strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(prefix, "."); hidden {
			continue
		}
		item := completionItem{Label: e.Name(), Kind: kindFile}
		if e.IsDir() {
			item.Kind = kindFolder
		}
		l.add(item, dir+e.Name())
	}
	return nil
}
