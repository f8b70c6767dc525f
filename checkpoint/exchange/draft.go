package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
)

// draft collects what a checkpoint of another tool says, until document makes a PRD
// document of it.
type draft struct {
	to       Target
	taken    Taken
	files    []*file
	done     map[string]bool     // the completed workstreams
	made     map[string][]string // the artifacts, by workstream
	phase    int                 // the one entered last, from 1; 0: none, or not known
	failure  *state.DocumentError
	imported state.Imported
}

func newDraft(f Format, to Target) *draft {
	return &draft{
		to: to, done: map[string]bool{}, made: map[string][]string{},
		imported: state.Imported{Format: string(f)},
	}
}

// read adds a file that was read to the draft.
func (d *draft) read(f *file) *value {
	d.files = append(d.files, f)
	d.taken.Files = append(d.taken.Files, f.path)
	return f.root
}

// warnUncertain says which workstreams a person must decide about.
func (t *Taken) warnUncertain() {
	if names := t.Document.Imported.Uncertain; len(names) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("must happen only once, and the checkpoint does not say whether it has happened: %s; `runner resolve` decides", strings.Join(names, ", ")))
	}
}

// warn adds what a person should know before the session begins.
func (d *draft) warn(format string, args ...any) {
	d.taken.Warnings = append(d.taken.Warnings, fmt.Sprintf(format, args...))
}

// noPlace adds what a session can't hold.
func (d *draft) noPlace(format string, args ...any) {
	d.taken.NoPlace = append(d.taken.NoPlace, fmt.Sprintf(format, args...))
}

// isWorkstream reports whether the pipeline has a workstream.
func (d *draft) isWorkstream(name string) bool { return slices.Contains(d.workstreams(), name) }

// workstreams returns the names of the pipeline's workstreams, in order.
func (d *draft) workstreams() []string {
	var names []string
	for _, p := range d.to.Shape.Phases {
		for _, w := range p.Workstreams {
			names = append(names, w.Name)
		}
	}
	return names
}

// workstream returns the name in a value if the pipeline has such a workstream. Otherwise
// that is a mistake.
func (d *draft) workstream(v *value, name string) (string, bool) {
	if name == "" {
		return "", false
	}
	if d.isWorkstream(name) {
		return name, true
	}
	v.mistake("names %q, but %s has no workstream of that name; it has %s", name, d.to.PRD, strings.Join(d.workstreams(), ", "))
	return "", false
}

// phaseNamed returns the number of the phase that a value names, 0 if it names none.
func (d *draft) phaseNamed(v *value) int {
	name := v.asText()
	if name == "" {
		return 0
	}
	names := make([]string, len(d.to.Shape.Phases))
	for i, p := range d.to.Shape.Phases {
		if p.Name == name {
			return i + 1
		}
		names[i] = p.Name
	}
	v.mistake("is %q, but %s has no phase of that name; it has %s", name, d.to.PRD, strings.Join(names, ", "))
	return 0
}

// completePhase marks all workstreams of a phase as completed.
func (d *draft) completePhase(n int) {
	for _, w := range d.to.Shape.Phases[n-1].Workstreams {
		d.done[w.Name] = true
	}
}

// result changes the result of a completed workstream.
func (d *draft) result(name string, change func(*state.ImportedResult)) {
	r := d.imported.Results[name]
	change(&r)
	if d.imported.Results == nil {
		d.imported.Results = map[string]state.ImportedResult{}
	}
	d.imported.Results[name] = r
}

// finish returns the document. Mistakes in the files are a *MistakesError.
func (d *draft) finish() (*Taken, error) {
	wrong := &MistakesError{Format: Format(d.imported.Format)}
	for _, f := range d.files {
		wrong.Mistakes = append(wrong.Mistakes, f.mistakes...)
		for _, path := range f.root.unknown() {
			d.noPlace("%s", path)
		}
	}
	if len(wrong.Mistakes) > 0 {
		return nil, wrong
	}
	slices.Sort(d.taken.NoPlace)
	d.taken.NoPlace = slices.Compact(d.taken.NoPlace)
	if err := d.findArtifacts(); err != nil {
		return nil, err
	}
	d.taken.Document.Document = d.document()
	d.taken.warnUncertain()
	if err := d.taken.Document.CheckWritten(d.to.PRD, &d.to.Shape); err != nil {
		return nil, err
	}
	return &d.taken, nil
}

// findArtifacts takes the files that the artifacts of completed workstreams match now, for
// those of which the checkpoint names none. A workstream whose artifacts are not here is
// not completed: nothing could restore them.
func (d *draft) findArtifacts() error {
	if d.to.Artifacts == nil {
		return nil
	}
	for _, name := range d.workstreams() {
		if !d.done[name] || len(d.made[name]) > 0 {
			continue
		}
		files, unmatched, err := d.to.Artifacts(name)
		if err != nil {
			return err
		}
		if d.made[name] = files; unmatched != "" {
			delete(d.done, name)
			delete(d.imported.Results, name)
			d.warn("%s is not taken as completed, since no file here matches its artifacts %s", name, unmatched)
		}
	}
	return nil
}

func (d *draft) document() state.Document {
	doc := state.Document{
		PRD: d.to.PRD, Title: d.to.Title, CurrentPhase: d.phase,
		Completed: []string{}, InProgress: []string{}, Pending: []string{},
		Artifacts: map[string][]string{}, GatesPassed: []string{}, GatesPending: []string{},
		Timestamp: d.to.Now.UTC().Format(time.RFC3339), Error: d.failure, Imported: &d.imported,
	}
	if d.imported.CreatedAt != "" {
		doc.Timestamp = d.imported.CreatedAt
	}
	for i, p := range d.to.Shape.Phases {
		for _, w := range p.Workstreams {
			if !d.done[w.Name] {
				doc.Pending = append(doc.Pending, w.Name)
			} else {
				doc.Completed = append(doc.Completed, w.Name)
				doc.CurrentPhase = max(doc.CurrentPhase, i+1)
			}
			addGates(&doc, w.Name, w.Gates)
		}
		addGates(&doc, p.Name, p.Gates)
	}
	for _, name := range slices.Sorted(maps.Keys(d.made)) {
		if d.done[name] && len(d.made[name]) > 0 {
			doc.Artifacts[name] = d.made[name]
		}
	}
	doc.Status = d.status(doc)
	d.imported.Uncertain = uncertain(doc, d.to.Shape)
	return doc
}

// uncertain returns the workstreams of a document that must happen only once and may have
// happened. The formats do not record starts, and work may have gone on after the
// checkpoint was made. So it names those that are not completed in the phases that were
// entered and in the next one.
func uncertain(doc state.Document, shape state.Shape) []string {
	var names []string
	for i, p := range shape.Phases {
		for _, w := range p.Workstreams {
			if w.Once && i <= doc.CurrentPhase && !slices.Contains(doc.Completed, w.Name) {
				names = append(names, w.Name)
			}
		}
	}
	return names
}

// addGates adds gates as pending: no other tool but that of the PRD document records
// verdicts, so Runner judges the work again.
func addGates(doc *state.Document, owner string, names []string) {
	for _, name := range names {
		doc.GatesPending = append(doc.GatesPending, fmt.Sprintf("%s (%s)", name, owner))
	}
}

func (d *draft) status(doc state.Document) state.Status {
	switch {
	case d.failure != nil:
		return state.StatusFailed
	case len(doc.Pending)+len(doc.GatesPending) == 0:
		return state.StatusComplete
	case doc.CurrentPhase == 0:
		return state.StatusInitialized
	}
	return state.StatusPaused
}
