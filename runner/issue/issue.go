// Package issue reads the issue of a tracker that a pipeline works on.
//
// Reader.Read runs the process of the issue block, or reads its file, and returns what is
// recorded in a session. What a changed issue means for a session is decided in
// runner/plan. pipeline/SPEC.md describes the JSON for the authors of pipelines.
package issue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/pipeline"
	"prdrunner/runner/query"
)

// maxSize is the largest JSON text of an issue, in bytes.
const maxSize = 1 << 20

// Reader reads the issue of a pipeline.
type Reader struct {
	Pipeline  *pipeline.Pipeline
	Files     *workspace.Workspace
	Workspace string        // absolute
	Commander git.Commander // runs the process
	Mask      func(string) string
	Hide      func([]pipeline.Secret) error // makes Mask hide more values
}

// Read returns the issue as it is now. Sensitive values in it are hidden.
func (r Reader) Read(ctx context.Context) (*state.Issue, error) {
	block := r.Pipeline.Issue
	if block.OnlyNamed() {
		i := &state.Issue{Number: block.Number, Labels: []string{}, Assignees: []string{}}
		i.SetText("", "")
		return i, nil
	}
	data, from, err := r.source(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the issue: %w", err)
	}
	i, err := parse(data, r.Mask)
	if err != nil {
		return nil, fmt.Errorf("read the issue: %s: %w", from, err)
	}
	switch {
	case i.Number == 0:
		i.Number = block.Number
	case block.Number != 0 && i.Number != block.Number:
		return nil, fmt.Errorf("read the issue: %s: it is issue %d, and the pipeline works on issue %d; correct \"number\" in the issue block, or what reads the issue", from, i.Number, block.Number)
	}
	for _, l := range block.Labels {
		if slices.Contains(i.Labels, l.Label) {
			i.Phase, i.StateLabel = l.Phase, l.Label
			break
		}
	}
	return i, nil
}

// source returns the JSON text, and where it is from.
func (r Reader) source(ctx context.Context) (data []byte, from string, err error) {
	block := r.Pipeline.Issue
	inv, runs, diags := block.Invocation()
	switch {
	case diags.HasErrors():
		return nil, "", diags
	case !runs:
		data, err = r.readFile(block.File)
		return data, block.File, err
	}
	data, err = query.Querier{PRD: r.Pipeline.ID, Files: r.Files, Workspace: r.Workspace, Commander: r.Commander, Hide: r.Hide}.Output(ctx, inv, block.Timeout, maxSize)
	if err != nil {
		return nil, "", errors.New(r.Mask(err.Error()))
	}
	return data, "the output of " + inv.Command[0], nil
}

func (r Reader) readFile(name string) ([]byte, error) {
	f, err := r.Files.Tree().Root().OpenFile(filepath.FromSlash(name), os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("%s has more than %d MiB", name, maxSize>>20)
	}
	return data, err
}

// named is a text, or an object with a name: a label of GitHub has a name, an assignee a
// login, and one of GitLab a username.
type named string

// UnmarshalJSON implements json.Unmarshaler.
func (n *named) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		var text string
		err := json.Unmarshal(data, &text)
		*n = named(text)
		return err
	}
	var object struct {
		Login, Username, Name string
	}
	const must = `a label or an assignee must be a text, or an object with "name", "login" or "username"`
	if err := json.Unmarshal(data, &object); err != nil {
		return errors.New(must)
	}
	for _, text := range []string{object.Login, object.Username, object.Name} {
		if text != "" {
			*n = named(text)
			return nil
		}
	}
	return errors.New(must)
}

// parse reads an issue in JSON. It takes the fields that it knows.
func parse(data []byte, mask func(string) string) (*state.Issue, error) {
	var in struct {
		Number      int     `json:"number"`
		IID         int     `json:"iid"` // the number of a GitLab issue
		Title       *string `json:"title"`
		Body        string  `json:"body"`
		Description string  `json:"description"` // the body of a GitLab issue
		Labels      []named `json:"labels"`
		Assignees   []named `json:"assignees"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("not an issue in JSON: %w", inWords(err))
	}
	if in.Title == nil || strings.TrimSpace(*in.Title) == "" {
		return nil, errors.New(`not an issue in JSON: it has no "title"`)
	}
	number, body := in.Number, in.Body
	if number == 0 {
		number = in.IID
	}
	if body == "" {
		body = in.Description
	}
	if number < 0 {
		return nil, fmt.Errorf("%d is no number of an issue", number)
	}
	i := &state.Issue{Number: number, Labels: names(in.Labels, mask), Assignees: names(in.Assignees, mask)}
	i.SetText(mask(*in.Title), mask(body))
	return i, nil
}

// inWords returns an error of encoding/json in the words of JSON, without the types of Go.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	kind, _, _ := strings.Cut(wrong.Value, " ") // a number that does not fit follows its kind
	is := map[string]string{"array": "a list", "object": "an object", "string": "a text", "number": "a number", "bool": "true or false"}[kind]
	switch wrong.Field {
	case "":
		return fmt.Errorf(`it is %s, and must be an object with "title"`, is)
	case "labels", "assignees":
		return fmt.Errorf("%q is %s, and must be a list", wrong.Field, is)
	case "number", "iid":
		return fmt.Errorf("%q is %s, and must be a whole number", wrong.Field, is)
	}
	return fmt.Errorf("%q is %s, and must be a text", wrong.Field, is)
}

// names returns texts in order, each once.
func names(list []named, mask func(string) string) []string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = mask(string(n))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
