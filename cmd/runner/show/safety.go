package show

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"go.yaml.in/yaml/v3"

	"prdrunner/checkpoint/safety"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// YAML writes a report as YAML, with the fields and the order of its JSON form.
func YAML(w io.Writer, v any) error {
	var object bytes.Buffer
	if err := JSON(&object, v); err != nil {
		return err
	}
	var node yaml.Node // every JSON text is YAML
	if err := yaml.Unmarshal(object.Bytes(), &node); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	inBlocks(&node)
	enc := yaml.NewEncoder(w)
	const indent = 2
	enc.SetIndent(indent)
	if err := enc.Encode(&node); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return enc.Close()
}

// inBlocks takes from the nodes the style in which JSON is written.
func inBlocks(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = 0
	}
	for _, child := range n.Content {
		inBlocks(child)
	}
}

// SafetyCreated shows a new safety checkpoint.
func SafetyCreated(w io.Writer, r info.SafetyCreatedReport) error {
	b := newPage(w)
	fmt.Fprintf(b, "Created: %s\n", r.Checkpoint.ID)
	writeSafety(b, r)
	fmt.Fprintf(b, "\nRestore it with: %s\n", r.Checkpoint.RestoreCommand)
	return b.end()
}

// Safety shows a safety checkpoint.
func Safety(w io.Writer, r info.SafetyCreatedReport) error {
	b := newPage(w)
	fmt.Fprintf(b, "%s\n", r.Checkpoint.ID)
	writeSafety(b, r)
	if len(r.Checkpoint.Scope.Files) > 0 {
		b.WriteString("\nFiles:\n")
		for _, path := range r.Checkpoint.Scope.Files {
			fmt.Fprintf(b, "  %s\n", view.OneLine(string(path)))
		}
	}
	for _, key := range r.Checkpoint.Scope.StateKeys {
		fmt.Fprintf(b, "  key %s\n", key)
	}
	for _, db := range r.Checkpoint.Scope.Databases {
		fmt.Fprintf(b, "  database %s, %s %s, as a %s\n", db.Name, db.Driver, view.OneLine(string(db.Identity)), db.Method)
	}
	for _, done := range r.Restores {
		fmt.Fprintf(b, "\nRestored: %s, %s\n", done.At.UTC().Format(time.DateTime)+" UTC", info.DescribeRestore(&done))
		if done.Undo != "" {
			fmt.Fprintf(b, "  %s has what was there before\n", done.Undo)
		}
	}
	fmt.Fprintf(b, "\nRestore: %s\n", r.Checkpoint.RestoreCommand)
	b.WriteString("\nWithout Runner, in the workspace:\n")
	for _, command := range r.Checkpoint.PlainCommands {
		fmt.Fprintf(b, "  %s\n", view.OneLine(string(command)))
	}
	for _, limit := range r.Checkpoint.PlainLimits {
		fmt.Fprintf(b, "  - %s\n", view.OneLine(string(limit)))
	}
	return b.end()
}

func writeSafety(b *page, r info.SafetyCreatedReport) {
	c := r.Checkpoint
	fmt.Fprintf(b, "  Type:       %s\n", c.Type)
	if c.Reason != "" {
		fmt.Fprintf(b, "  Reason:     %s\n", view.OneLine(string(c.Reason)))
	}
	fmt.Fprintf(b, "  Holds:      %s\n", view.OneLine(r.PreMutationState.Summary))
	fmt.Fprintf(b, "  Hash:       %s\n", r.PreMutationState.Hash)
	fmt.Fprintf(b, "  Expires:    %s\n", expiry(c.Expiry))
	fmt.Fprintf(b, "  Confidence: %.2f of 1\n", r.Confidence)
	for _, check := range r.Checks {
		if check.Share < 1 && check.Name != safety.CompleteCheck { // what was not copied is named below
			fmt.Fprintf(b, "    - %s\n", view.OneLine(string(check.Detail)))
		}
	}
	for _, a := range r.Assumptions {
		fmt.Fprintf(b, "  Note:       %s\n", view.OneLine(string(a)))
	}
	for _, path := range r.LeftOut {
		fmt.Fprintf(b, "  Not copied: %s, which looks sensitive\n", view.OneLine(string(path)))
	}
	for _, path := range r.Unread {
		fmt.Fprintf(b, "  Not copied: %s, which can't be read or is no file\n", view.OneLine(string(path)))
	}
}

func expiry(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.DateTime) + " UTC"
}
