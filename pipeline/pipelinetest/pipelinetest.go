// Package pipelinetest has what tests of texts share that show pipelines. Only tests import it. Where to begin: Examples.
package pipelinetest

import (
	"regexp"
	"strings"
)

// Example is a fenced block of HCL in a text of Markdown. Its info string is hcl, the word mistake if it shows one, and for
// a part of a file "in BLOCK", which says to which block the part belongs; or hcl and the name of a file.
type Example struct {
	Line       int    // of the text, at which the block begins
	Info       string // the words after hcl
	Text       string // what stands in the block
	Start, End int    // where the block is in the text, in bytes
}

// Examples returns the fenced blocks of HCL of a text.
func Examples(text string) []Example {
	var all []Example
	block := regexp.MustCompile("(?m)^```hcl(.*)\n((?:.*\n)*?)```$")
	for _, at := range block.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, Example{
			Line: 1 + strings.Count(text[:at[0]], "\n"), Info: strings.TrimSpace(text[at[2]:at[3]]), Text: text[at[4]:at[5]],
			Start: at[0], End: at[1],
		})
	}
	return all
}

// Mistake reports whether the example shows a mistake.
func (e Example) Mistake() bool { return e.Info == "mistake" || strings.HasPrefix(e.Info, "mistake ") }

// Source returns the example as a whole file. It reports false if it is not known what stands around the example.
func (e Example) Source() (source string, known bool) {
	const (
		pipelineBegins = "pipeline \"PRD-001\" {\n"
		phaseBegins    = pipelineBegins + "  phase \"main\" {\n"
		phase          = "  phase \"last\" {\n    workstream \"example\" {\n      command = [\"true\"]\n    }\n  }\n"
		uses           = "  phase \"last\" {\n    workstream \"example\" {\n      agent = agent.implementer\n      task  = \"x\"\n      gates = [gate.vet, gate.test]\n    }\n  }\n"
	)
	block, part := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(e.Info, "mistake")), "in ")
	switch {
	case !part:
		return e.Text, block == "" || strings.HasSuffix(block, ".hcl")
	case block == "file":
		return e.Text + pipelineBegins + phase + "}\n", true
	case block == "included":
		return e.Text + pipelineBegins + uses + "}\n", true
	case block == "pipeline":
		return pipelineBegins + e.Text + phase + "}\n", true
	case block == "phase":
		return phaseBegins + e.Text + "  }\n}\n", true
	case block == "workstream":
		return phaseBegins + "    workstream \"example\" {\n" + e.Text + "    }\n  }\n}\n", true
	}
	return "", false
}
