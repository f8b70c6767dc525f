package safety

import (
	"context"
	"slices"

	"prdrunner/checkpoint/workspace"
)

// findUncopied finds the files and databases that a restore would overwrite or remove, and
// of which a checkpoint that is made before it would have no copy.
func (s *Store) findUncopied(ctx context.Context, w *workspace.Workspace, p *RestorePlan) error {
	for _, c := range p.DatabaseChanges {
		if !c.Readable() {
			p.Uncopied = append(p.Uncopied, databaseName(c.Name))
		}
	}
	if p.Files == nil {
		return nil
	}
	var present []workspace.Entry
	for _, c := range p.Changes {
		switch {
		case c.From == nil:
		case p.now.Lacks(c.Path):
			p.Uncopied = append(p.Uncopied, c.Path)
		default:
			present = append(present, *c.From)
		}
	}
	var last *workspace.Listing
	if c := s.lastOfScope(w, p.Files, p.Listing.Patterns); c != nil {
		var err error
		if last, err = w.Load(ctx, c.Files.Listing); err != nil {
			return err
		}
	}
	refused, err := p.Files.view(w).Refused(ctx, present, last, nil)
	p.Uncopied = slices.Concat(p.Uncopied, refused)
	slices.Sort(p.Uncopied)
	return err
}

// Lacking returns the files and databases that a plan overwrites or removes, and of which a
// copy that was made before that has nothing.
func (p *RestorePlan) Lacking(undo *Created) []string {
	var lost []string
	for _, c := range p.DatabaseChanges {
		if undo.databaseDigest(c.Name) == "" {
			lost = append(lost, databaseName(c.Name))
		}
	}
	for _, c := range p.Changes {
		if c.From != nil && undo.Listing.Lacks(c.Path) {
			lost = append(lost, c.Path)
		}
	}
	slices.Sort(lost)
	return lost
}
