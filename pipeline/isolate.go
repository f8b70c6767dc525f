package pipeline

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"prdrunner/pipeline/glob"
)

// isolateBlock is an isolate block of a workstream as the file has it.
type isolateBlock struct {
	block   *hclsyntax.Block
	from    *argument
	include *argument
	exclude *argument
}

var isolateSchema = &hcl.BodySchema{Attributes: attributes("from", "include", "exclude")}

func (d *decoder) decodeIsolate(block *hclsyntax.Block) *isolateBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, isolateSchema)
	return &isolateBlock{
		block:   block,
		from:    d.argument(content, "from"),
		include: d.argument(content, "include"),
		exclude: d.argument(content, "exclude"),
	}
}

// Isolate says that each attempt at a workstream runs in a work tree of its own, outside the
// workspace, and which files are in it. It counts in the digest.
type Isolate struct {
	From IsolateFrom

	Include []string // globs, in the form of Workstream.Inputs
	Exclude []string // globs of files that are left out
	// Patterns are the glob.Patterns of Include without Exclude.
	Patterns []string
	Range    hcl.Range
}

// IsolateFrom says from which files a work tree is made.
type IsolateFrom string

// The sources of work trees.
const (
	IsolateCopy IsolateFrom = "copy" // all files of the workspace; the default
	IsolateGit  IsolateFrom = "git"  // those that git does not ignore; git commands work in the tree
)

// buildIsolate evaluates the isolate block of an instance.
func buildIsolate(b *builder, ws *Workstream, fr frame) {
	block := ws.def.block.isolate
	if block == nil {
		return
	}
	i := &Isolate{
		// The default does not depend on whether the workspace is in a git work tree: the
		// digest of the workstream must be the same on every machine.
		From:    oneOf(b, block.from, fr, IsolateCopy, IsolateCopy, IsolateGit),
		Include: b.evalGlobs(block.include, fr),
		Exclude: b.evalGlobs(block.exclude, fr),
		Range:   block.block.DefRange(),
	}
	if block.include == nil {
		i.Include = []string{"**"}
	}
	i.Patterns = glob.Patterns(i.globs())
	ws.Isolate = i
	switch {
	case ws.Effect == Once:
		b.errorf("Isolation of a once workstream", i.Range, `effect = "once" says that what the workstream does happens outside of its files and can't be repeated, so a work tree that is thrown away after a failure does not fit. Remove "isolate", or choose another effect.`)
	case ws.Protect != nil || ws.Mutates:
		b.errorf("Isolation of a protected workstream", i.Range, `With "isolate" only artifacts and outputs come back, so there is nothing in the workspace to protect. Remove "isolate", or "protect" and "mutates".`)
	}
}

// globs returns Include and Exclude as one list of globs.
func (i *Isolate) globs() []string {
	globs := slices.Clone(i.Include)
	for _, text := range i.Exclude {
		if back, isException := strings.CutPrefix(text, "!"); isException {
			globs = append(globs, back)
		} else {
			globs = append(globs, "!"+text)
		}
	}
	return globs
}

// checkIsolatedGates refuses gates of an isolated workstream that wait for a person. They
// would wait beyond the end of the run, and the work tree would not be there any more.
func (b *builder) checkIsolatedGates(ws *Workstream) {
	if ws.Isolate == nil {
		return
	}
	for _, g := range ws.Gates {
		if g.Kind == GateApproval {
			b.errorf("Approval in an isolated workstream", g.Range, "The gates of %s are judged in its work tree, which ends with the run, so %s can't wait there for a person. Move the gate to the phase: then it judges what has come back.", ws.Name, g.Name)
		}
	}
}

// addToDigest adds what decides which files an attempt finds.
func (i *Isolate) addToDigest(h *hasher) {
	if i == nil {
		return
	}
	h.writeField("isolate", string(i.From))
	h.writeList("include", inDigest(i.Include))
	h.writeList("exclude", inDigest(i.Exclude))
}

// parts returns the same values, for the explanation of a change.
func (i *Isolate) parts() []part {
	if i == nil {
		return nil
	}
	parts := []part{{name: "isolate", text: string(i.From)}}
	parts = append(parts, indexed("include", inDigest(i.Include))...)
	return append(parts, indexed("exclude", inDigest(i.Exclude))...)
}
