package safety

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/workspace"
)

// Newer is a file, a key or a database that was changed after the change that the
// checkpoint is to undo. Path is that of the file, `key NAME` or `database NAME`.
type Newer struct {
	Path, Why string
	Committed bool // it is in a commit, which stays whatever is restored
}

// NewerWorkError says that a restore would overwrite newer work. Nothing was changed.
type NewerWorkError struct{ Newer []Newer }

func (e *NewerWorkError) Error() string {
	var reasons []string
	paths := map[string][]string{}
	for _, n := range e.Newer {
		if paths[n.Why] == nil {
			reasons = append(reasons, n.Why)
		}
		paths[n.Why] = append(paths[n.Why], n.Path)
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("%s (%s)", joinSome(paths[why]), why)
	}
	return "the restore would overwrite newer work: " + strings.Join(reasons, "; ")
}

// joinSome names the first of some paths.
func joinSome(paths []string) string {
	const most = 5
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}

func keyName(key string) string { return "key " + key }

// sameValue reports whether two keys have the same value, or neither is set.
func sameValue(a, b *ledger.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Value == b.Value
}

// findNewer finds newer work. A plain change after the checkpoint is what the restore is to
// undo. Newer work are files that were committed since, and anything that was changed after
// the checkpoint was restored, or after a restore was interrupted.
func (s *Store) findNewer(ctx context.Context, w *workspace.Workspace, p *RestorePlan) error {
	if p.Interrupted != nil {
		return s.findEdits(ctx, w, p)
	}
	changed := map[string]bool{}
	for _, c := range p.Changes {
		changed[c.Path] = true
	}
	for _, e := range p.Index {
		changed[e.Path] = true
	}
	committed, err := p.committedSince(ctx, w)
	if err != nil {
		return err
	}
	restored := ""
	if n := len(p.Restores); n > 0 {
		restored = "changed since the checkpoint was restored at " + p.Restores[n-1].At.UTC().Format(time.DateTime) + " UTC"
	}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		switch {
		case committed[path]:
			p.Newer = append(p.Newer, Newer{path, "committed since the checkpoint was made", true})
		case restored != "":
			p.Newer = append(p.Newer, Newer{Path: path, Why: restored})
		}
	}
	for _, e := range p.KeyEdits {
		if restored != "" {
			p.Newer = append(p.Newer, Newer{Path: keyName(e.Name), Why: restored})
		}
	}
	for _, c := range p.DatabaseChanges {
		if restored != "" {
			p.Newer = append(p.Newer, Newer{Path: databaseName(c.Name), Why: restored})
		}
	}
	return nil
}

// committedSince returns the paths at which HEAD differs, because of newer commits, from
// the commit that it named when the checkpoint was made.
func (p *RestorePlan) committedSince(ctx context.Context, w *workspace.Workspace) (map[string]bool, error) {
	if p.Files == nil || p.Files.Git == nil {
		return nil, nil
	}
	g, repo := p.Files.Git, w.Repository()
	_, head, err := repo.Head(ctx)
	if err != nil || head == "" || head == g.Head {
		return nil, err
	}
	paths, err := repo.ChangedSince(ctx, g.Head, head, p.CreatedAt)
	committed := make(map[string]bool, len(paths))
	for _, path := range paths {
		committed[path] = true
	}
	return committed, err
}
