package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
)

// CheckDocument fails if a document from which a session begins holds a sensitive value,
// because the session records the document.
func (setup *Setup) CheckDocument(env *cli.Environment, d *document.File) error {
	field, err := sensitiveField(setup.Masker, d)
	if field == "" || err != nil {
		return err
	}
	path := setup.Store.Layout().DocumentPath(d.PRD)
	return advice.With(advice.Usagef("%s holds a sensitive value in %s, and a session records the document", env.Display(path), field),
		"remove the value from "+text.ShellWord(path)+", then run the command again")
}

// CheckNewDocument is CheckDocument for an import, before the document is written. It looks
// for the values that the import was given for sensitive variables.
func CheckNewDocument(env *cli.Environment, p *pipeline.Pipeline, d *document.File) error {
	masker, err := newMasker(env, p)
	if err != nil {
		return err
	}
	field, err := sensitiveField(masker, d)
	if field == "" || err != nil {
		return err
	}
	return advice.With(advice.Usagef("the file holds a sensitive value, which would be %s of the document, and a session records the document", field), "nothing was changed; remove the value from the file")
}

// sensitiveField returns the path of a field of a document that holds a sensitive value,
// "" if there is none.
func sensitiveField(masker *mask.Masker, d *document.File) (string, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("look for sensitive values in the document: %w", err)
	}
	var fields any
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", fmt.Errorf("look for sensitive values in the document: %w", err)
	}
	return findSensitive(masker, "", fields), nil
}

// findSensitive returns the path of a text in a value that holds a sensitive value. The
// path is masked, because names can hold one, too.
func findSensitive(masker *mask.Masker, path string, value any) string {
	switch value := value.(type) {
	case string:
		if masker.String(value) != value {
			return path
		}
	case []any:
		for i, item := range value {
			if found := findSensitive(masker, fmt.Sprintf("%s[%d]", path, i), item); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := masker.String(name)
			if path != "" {
				at = path + "." + at
			}
			if masker.String(name) != name {
				return at
			}
			if found := findSensitive(masker, at, value[name]); found != "" {
				return found
			}
		}
	}
	return ""
}
