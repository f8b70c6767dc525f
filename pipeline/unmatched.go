package pipeline

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/glob"
)

// unmatchedSearch warns of globs of inputs that match no file now, once for each
// argument and glob. It does not warn of a glob that may match artifacts of a
// workstream.
type unmatchedSearch struct {
	b         *builder
	artifacts []*artifactGlob // of all phases
	matched   map[string]bool // by the joined patterns of a glob
	compared  int
}

func (b *builder) unmatchedInputs() {
	if b.in.Matches == nil || b.diags.HasErrors() {
		return
	}
	u := &unmatchedSearch{b: b, artifacts: append(b.unknownArtifacts(), b.scope.artifacts()...), matched: map[string]bool{}}
	for _, phase := range b.pipeline.Phases {
		for _, ws := range phase.Workstreams {
			b.current = ws
			u.checkGlobs(ws.Name, ws.Inputs, ws.def.block.inputs)
			for _, g := range ws.Gates {
				u.checkGlobs(g.Label(), g.Inputs, g.def.block.inputs)
			}
		}
		b.current = nil
		for _, g := range phase.Gates {
			u.checkGlobs(g.Label(), g.Inputs, g.def.block.inputs)
		}
	}
}

// unknownArtifacts returns globs for the artifacts whose own globs are not known yet: for
// "out/${each.key}.txt" it is "out/**".
func (b *builder) unknownArtifacts() []*artifactGlob {
	var all []*artifactGlob
	for _, known := range b.artifactBeginnings() {
		text := known[:strings.LastIndex(known, "/")+1] + "**"
		all = append(all, compileArtifact(text, text)...)
	}
	return all
}

// checkGlobs warns of the globs of a list that match nothing.
func (u *unmatchedSearch) checkGlobs(reader string, globs []string, a *argument) {
	for i, patterns := range glob.EachPattern(globs) {
		if len(patterns) == 0 {
			continue
		}
		key := strings.Join(patterns, "\n")
		matched, known := u.matched[key]
		if !known {
			matched = u.b.in.Matches(patterns) || u.matchesArtifacts(glob.WithExclusions(globs, i))
			u.matched[key] = matched
		}
		if matched {
			continue
		}
		advice := "Correct it, or remove it."
		if below := globs[i] + "/"; u.b.in.Matches(glob.Patterns([]string{below})) {
			advice = fmt.Sprintf("It matches directories; %q names the files in them.", below)
		}
		u.b.addWarning("Inputs that match nothing", a.element(i, len(globs)), fmt.Sprintf(
			"No file matches %q, which %s names among its inputs, and no workstream makes one. An edit of what is meant would go unseen. %s", globs[i], reader, advice))
	}
}

// matchesArtifacts reports whether a workstream has artifacts that a pattern may match.
func (u *unmatchedSearch) matchesArtifacts(pattern string) bool {
	for _, reading := range glob.Compile(pattern) {
		for _, c := range u.artifacts {
			if u.compared++; u.compared > maxComparisons || reading.Overlaps(c.Glob) {
				return true
			}
		}
	}
	return false
}

// emptyFilesets warns of calls of fileset in an argument that return no file, if their
// arguments are known.
func (b *builder) emptyFilesets(a *argument, fr frame) {
	if b.in.Matches == nil {
		return
	}
	for _, call := range a.calls {
		if call.Name != "fileset" {
			continue
		}
		fr.reads = b.scope.readsOf(a, fr) // so that the result is unknown if a workstream makes the files
		ctx, diags := b.scope.context(a, fr, viewReal)
		if diags.HasErrors() {
			return
		}
		value, diags := call.Value(ctx)
		if diags.HasErrors() || !value.IsWhollyKnown() || value.IsMarked() || value.IsNull() || value.LengthInt() > 0 {
			continue
		}
		b.addWarning("Fileset of no file", call.Range(), fmt.Sprintf("No file matches %s now. Correct the directory or the glob, or remove the call.", b.calledWith(call.Args[0].Value, call.Args[1].Value, ctx)))
	}
}

// calledWith returns the directory and the glob of a call of fileset, for messages.
func (b *builder) calledWith(dir, pattern func(*hcl.EvalContext) (cty.Value, hcl.Diagnostics), ctx *hcl.EvalContext) string {
	in, _ := dir(ctx)
	text, _ := pattern(ctx)
	if in.Type() != cty.String || text.Type() != cty.String || in.IsMarked() || text.IsMarked() {
		return "it"
	}
	return fmt.Sprintf("%q in %q", text.AsString(), in.AsString())
}
