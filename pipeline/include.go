package pipeline

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/glob"
)

// includeReader reads the files that a file includes.
type includeReader struct {
	file  *File // the file with the argument "include"
	files *files.Workspace

	diags      hcl.Diagnostics
	incomplete bool // a file could not be taken in, so that names may be missing
}

// Including returns the file with the blocks of the files that it includes, and with the
// files of the pipelines that it calls. It reads them
// in the workspace of in, or, for an earlier version of the pipeline, as they were. Mistakes
// in them are among the diagnostics. Pipeline calls Including; other callers need it for what
// covers all files: Sources, Sensitive and Diagnostics.
func (f *File) Including(in Inputs) *File { return f.withIncluded(in).withCalled(in) }

func (f *File) withIncluded(in Inputs) *File {
	if f.include == nil || f.included != nil {
		return f
	}
	r := &includeReader{file: f, files: in.files()}
	whole := *f
	whole.included = r.readAll()
	for _, g := range whole.included {
		whole.variables = slices.Concat(whole.variables, g.variables)
		whole.locals = slices.Concat(whole.locals, g.locals)
		whole.gates = slices.Concat(whole.gates, g.gates)
		whole.agents = slices.Concat(whole.agents, g.agents)
	}
	whole.diags = slices.Concat(f.diags, r.diags)
	whole.unread = f.unread || r.incomplete
	return &whole
}

// readAll reads the files that match, sorted by path. The result is not nil.
func (r *includeReader) readAll() []*File {
	globs := r.file.include.texts
	if globs == nil {
		r.fail("Invalid include", r.file.include.exprRange(),
			`"include" is a list of globs in quotes, without references and functions, because the files are read before anything is evaluated: include = ["common/*.hcl"].`)
	}
	places := map[string]hcl.Range{} // by path: the glob that matches it
	for i, text := range globs {
		place := r.file.include.element(i, len(globs))
		for _, name := range r.match(text, place) {
			if _, known := places[name]; !known {
				places[name] = place
			}
		}
	}
	declared := declarations{}
	_ = declared.add(r.file) // Parse has reported what the file itself declares twice
	included := []*File{}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if g := r.read(name, places[name]); g != nil {
			r.diags = append(append(r.diags, g.diags...), declared.add(g)...)
			included = append(included, g)
		}
	}
	return included
}

// match returns the files that a glob matches. It returns a link that leads out of the
// workspace, too, and a path without wildcards even if nothing is there: to read them says
// what is wrong.
func (r *includeReader) match(text string, place hcl.Range) []string {
	switch problem, outside := glob.Check(text); {
	case outside:
		r.fail("Path outside the workspace", place, `%q in "include" must be a path relative to the workspace, with slashes, and must not lead out of it.`, text)
		return nil
	case glob.IsExclusion(text):
		r.fail("Invalid glob", place, `%q in "include" is an exclusion, and "include" takes none. Write globs that match only the files that are meant.`, text)
		return nil
	case problem != "":
		r.fail("Invalid glob", place, `%q in "include" is not a valid glob. %s`, text, problem)
		return nil
	}
	literal := !strings.ContainsAny(text, `*?[{\`) && (r.files.Hidden == nil || !r.files.Hidden(path.Clean(text)))
	names, err := r.files.FindSources(text)
	switch {
	case err != nil:
		r.fail("Cannot read included file", place, "The files that match %q cannot be found: %s.", text, err)
	case len(names) == 0 && literal:
		return []string{text}
	case len(names) == 0:
		r.fail("Include that matches nothing", place, "No file matches %q. Correct the glob, which is relative to the workspace, or remove it.", text)
	}
	return names
}

// read reads a file that the glob at a place matches. It returns nil if the file can't be
// taken in.
func (r *includeReader) read(name string, place hcl.Range) *File {
	src, err := r.files.ReadSource(name)
	if err != nil {
		r.fail("Cannot read included file", place, "The file %q cannot be read: %s. Includes are regular files inside the workspace.", name, err)
		return nil
	}
	f := parse(src, name, (*decoder).checkIncluded)
	if f.pipeline != nil {
		r.fail("Pipeline in an included file", place,
			"The file %q is included, and has a pipeline block (line %d). Only the file that includes others has one: write globs that do not match that file, or move what pipelines share into a file of its own.",
			name, f.pipeline.block.DefRange().Start.Line)
		return nil
	}
	r.incomplete = r.incomplete || f.unread || f.include != nil
	return f
}

// fail reports why a file is not taken in.
func (r *includeReader) fail(summary string, place hcl.Range, format string, args ...any) {
	r.incomplete = true
	r.diags = append(r.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &place})
}

// ParseIncluded reads the syntax of a file that others include, as Parse does for one that includes others.
func ParseIncluded(src []byte, filename string) (*File, hcl.Diagnostics) {
	f := parse(src, filename, (*decoder).checkIncluded)
	return f, f.diags
}

// Included returns the files that the file includes, sorted by path. It is empty before Including.
func (f *File) Included() []*File { return f.included }

// checkIncluded reports what a file that is included can't have. The caller checks for a
// pipeline block.
func (d *decoder) checkIncluded(f *File, _ *hclsyntax.Body) {
	if f.include != nil {
		d.report("Include in an included file", `Only the file with the pipeline block includes others. Add these globs to its "include", and remove them here.`, f.include.nameRange)
	}
}

// digest is that of the bytes of the file, or, if it includes or calls others, of their
// paths and bytes as well.
func (f *File) digest() string {
	if len(f.included)+len(f.called) == 0 {
		return fmt.Sprintf("sha256:%x", sha256.Sum256(f.source))
	}
	h := newHasher()
	h.writeField("file", string(f.source))
	for _, g := range f.included {
		h.writeField(g.name, string(g.source))
	}
	for _, name := range slices.Sorted(maps.Keys(f.called)) {
		if g := f.called[name]; g != nil {
			h.writeField("call "+name, g.digest())
		}
	}
	return h.sum()
}

// describeSources adds to a pipeline which files it includes and calls.
func (f *File) describeSources(p *Pipeline) {
	if f.include != nil {
		p.SourcePatterns = glob.Patterns(f.include.texts)
	}
	for _, g := range f.included {
		p.Sources = append(p.Sources, g.name)
	}
	for name := range f.allCalled() {
		p.Sources = append(p.Sources, name)
		p.SourcePatterns = append(p.SourcePatterns, glob.Escape(name))
	}
	slices.Sort(p.Sources)
	p.Sources = slices.Compact(p.Sources)
	slices.Sort(p.SourcePatterns)
}

// isIncluded reports whether a range lies in an included file. Such a file may declare more
// than this pipeline uses.
func (b *builder) isIncluded(rng hcl.Range) bool { return rng.Filename != b.file.name }

// includedArtifacts reports included files that a workstream makes. They are read before
// anything runs.
func (b *builder) includedArtifacts() {
	for _, g := range b.file.included {
		if makers := b.scope.makersOf(files.Call{Path: g.name}); len(makers) > 0 {
			b.errorf("Included file is an artifact", b.file.include.exprRange(),
				"The file %q is included before anything runs, but %s has it among its artifacts (%q). Include a file that people write, or make another one.",
				g.name, makers[0].ws.target().written(), makers[0].declared)
		}
	}
}

// lineOf names the line of a range in a message about a place, with its file if that is
// another one.
func lineOf(rng, place hcl.Range) string {
	line := fmt.Sprintf("line %d", rng.Start.Line)
	if rng.Filename != place.Filename {
		return rng.Filename + " " + line
	}
	return line
}
