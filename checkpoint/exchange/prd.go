package exchange

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
)

// exportPRD writes the PRD document without what Runner adds to it.
func exportPRD(s Source, write func(File) error) error {
	d := document.New(s.State)
	d.Runner = nil
	data, err := d.Encode()
	if err != nil {
		return err
	}
	return write(File{Name: s.State.PRD + ".json", Data: data})
}

// importPRD reads a PRD document. What the pipeline has and the document does not name
// is pending.
func importPRD(path string, to Target) (*Taken, error) {
	data, err := readWhole(path)
	if err != nil {
		return nil, err
	}
	d, err := document.Decode(data)
	if err != nil {
		return nil, err
	}
	d.ReadFrom(path)
	taken := &Taken{Files: []string{path}}
	if d.Runner != nil {
		taken.NoPlace = append(taken.NoPlace, "runner (the journal of its session is not in the document; `runner checkpoint export` moves a whole session)")
		d.Runner = nil
	}
	if d.Imported == nil {
		d.Imported = &state.Imported{Format: string(PRD)}
	}
	dropFindingGates(&d.Document, to.Shape, taken)
	addUnnamed(&d.Document, to.Shape, taken)
	if d.Status != state.StatusInitialized {
		d.Imported.Uncertain = uncertain(d.Document, to.Shape)
	}
	if err := d.CheckWritten(to.PRD, &to.Shape); err != nil {
		return nil, err
	}
	taken.Document = d
	taken.warnUncertain()
	return taken, nil
}

// dropFindingGates removes the gates that the findings of a review became: the pipeline
// does not have them before its review has run again, which makes them again.
func dropFindingGates(d *state.Document, shape state.Shape, taken *Taken) {
	made := func(label string) bool {
		name, owner, _ := strings.Cut(label, " (")
		number, found := strings.CutPrefix(name, "finding-")
		_, err := strconv.Atoi(number)
		added := slices.ContainsFunc(shape.Phases, func(p state.PhaseShape) bool {
			return owner == p.Name+")" && !slices.Contains(p.Gates, name)
		})
		if !found || err != nil || !added || d.Review == nil {
			return false
		}
		taken.Warnings = append(taken.Warnings, label+" is a gate of the review, which runs again")
		return true
	}
	d.GatesPassed = slices.DeleteFunc(d.GatesPassed, made)
	d.GatesPending = slices.DeleteFunc(d.GatesPending, made)
}

// addUnnamed adds the workstreams and gates of the pipeline that a document does not name:
// they were skipped, or are new.
func addUnnamed(d *state.Document, shape state.Shape, taken *Taken) {
	named := slices.Concat(d.Completed, d.InProgress, d.Pending, d.GatesPassed, d.GatesPending)
	add := func(to *[]string, name, otherwise string) {
		if slices.Contains(named, name) || otherwise != "" && slices.Contains(named, otherwise) {
			return
		}
		*to = append(*to, name)
		taken.Warnings = append(taken.Warnings, fmt.Sprintf("the document does not name %s: it is pending", name))
		if d.Status == state.StatusComplete {
			d.Status = state.StatusPaused
		}
	}
	for _, p := range shape.Phases {
		for _, w := range p.Workstreams {
			add(&d.Pending, w.Name, "")
			for _, gate := range w.Gates {
				add(&d.GatesPending, fmt.Sprintf("%s (%s)", gate, w.Name), gate)
			}
		}
		for _, gate := range p.Gates {
			add(&d.GatesPending, fmt.Sprintf("%s (%s)", gate, p.Name), gate)
		}
	}
}

// PRDOf returns the PRD that a PRD document is about, "" if the file is none.
func PRDOf(path string) string {
	data, err := readWhole(path)
	if err != nil {
		return ""
	}
	d, err := document.Decode(data)
	if err != nil {
		return ""
	}
	return d.PRD
}
