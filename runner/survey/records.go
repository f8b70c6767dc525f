package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// findPartial finds out which files may be partial work of stopped workstreams.
func (s *Surveyor) findPartial(st *state.State) {
	s.Partial = plan.PartialWork{ByFailedAttempts: s.leftFiles}
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			if ws.Isolate != nil { // what it did not complete is in no file of the workspace
				continue
			}
			s.Partial.Add(s.links.Extend(ws.ArtifactPatterns), st.Workstream(ws.Name), st.EndedUncaptured())
		}
	}
}

// CurrentArtifacts returns the artifacts of a workstream that no other workstream has
// recorded since. If a failed attempt of another workstream changed an artifact, it is
// returned with the content that the attempt left.
func (s *Surveyor) CurrentArtifacts(rec *state.Workstream) []state.Artifact {
	var all []state.Artifact
	for _, a := range rec.Artifacts {
		if owner := s.owners[string(a.Path)]; owner != "" && owner != rec.Name {
			continue
		}
		if left, ok := s.leftFiles[string(a.Path)]; ok {
			a = left
		}
		all = append(all, a)
	}
	return all
}

// Resurvey gathers the files that gates judge once more, and returns the present state of
// artifacts, by path. It omits missing files.
func (s *Surveyor) Resurvey(ctx context.Context, f *plan.Facts, gates []*pipeline.Gate, artifacts []string) (map[string]*state.Artifact, error) {
	for _, g := range gates {
		if err := s.Gate(ctx, f, g); err != nil {
			return nil, err
		}
	}
	now := make(map[string]*state.Artifact, len(artifacts))
	for _, path := range artifacts {
		a, err := Describe(ctx, s.files, path)
		switch {
		case err == nil:
			now[path] = &a
		case errors.Is(err, workspace.ErrNotRegular):
			now[path] = &state.Artifact{Digest: "not a file"}
		case !tree.IsAbsent(err):
			return nil, fmt.Errorf("look at artifacts again: %w", err)
		}
	}
	return now, nil
}

// Overwritten returns the artifacts of completed workstreams that match the patterns of
// the workstream name, which was stopped while it ran. It returns them with the recorded
// content, or with the content that the last failed attempt left. Later changes by the
// stopped workstream are partial work, which Runner undoes before the workstream runs
// again.
func (s *Surveyor) Overwritten(st *state.State, owners map[string]string, name string, patterns []string) []state.Artifact {
	var all []state.Artifact
	behind := s.leftBehind(st, owners)
	for path, owner := range owners {
		if owner == name || !tree.MatchesAny(patterns, path) {
			continue
		}
		for _, a := range st.Workstream(owner).Artifacts {
			if string(a.Path) != path || a.Digest == "" {
				continue
			}
			if left, ok := behind[path]; ok {
				a = left
			}
			all = append(all, a)
		}
	}
	return all
}

// compareArtifacts compares the recorded artifacts of a workstream with the files.
func (s *Surveyor) compareArtifacts(ctx context.Context, f *plan.Facts, rec *state.Workstream) error {
	var conflicts []plan.Conflict
	conflict := func(a state.Artifact, found string) error {
		kept, err := s.files.Contents().HasObject(a.Digest)
		conflicts = append(conflicts, plan.Conflict{Path: a.Path, Workstream: rec.Name, Recorded: a.Digest, Found: found, Kept: kept})
		return err
	}
	var partial []plan.PartialArtifact
	current := make([]state.Artifact, 0, len(rec.Artifacts))
	for _, a := range rec.Artifacts {
		if owner := s.owners[string(a.Path)]; owner != "" && owner != rec.Name {
			continue // another workstream has recorded the file since
		}
		if s.returning[string(a.Path)] {
			continue
		}
		left, isLeft := s.leftFiles[string(a.Path)]
		now, err := Describe(ctx, s.files, string(a.Path))
		if isLeft && left.Digest == "" { // the failed attempt had removed it
			switch {
			case err == nil && s.Partial.Includes(string(a.Path), now.Digest):
				partial = append(partial, plan.PartialArtifact{Artifact: a, Found: now.Digest})
			case err == nil: // a new file, which is not on record
			case !tree.IsAbsent(err):
				return fmt.Errorf("verify the artifacts of %s: %w", rec.Name, err)
			}
			continue
		}
		if isLeft {
			a = left
		}
		now.LeftOut = a.LeftOut
		switch {
		case (err == nil && a.Digest != "" && now.Digest != a.Digest || tree.IsAbsent(err)) && s.Partial.Includes(string(a.Path), now.Digest):
			partial, err = append(partial, plan.PartialArtifact{Artifact: a, Found: now.Digest}), nil
		case tree.IsAbsent(err):
			err = conflict(a, "")
		case errors.Is(err, workspace.ErrNotRegular):
			err = conflict(a, "not a file")
		case err == nil && a.Digest != "" && now.Digest != a.Digest:
			err = conflict(a, now.Digest)
			current = append(current, now)
		case err == nil:
			current = append(current, now)
		}
		if err != nil {
			return fmt.Errorf("verify the artifacts of %s: %w", rec.Name, err)
		}
	}
	f.Conflicts[rec.Name], f.Current[rec.Name], f.Partial[rec.Name] = conflicts, current, partial
	return nil
}

// gatherOwners finds out which workstream recorded each artifact last, which content failed
// attempts left, and which files results replace. It returns, by path, the workstreams that share an artifact.
func (s *Surveyor) gatherOwners(st *state.State) (sharers map[string][]string) {
	s.owners, sharers = s.ownersAndSharers(st)
	s.leftFiles = s.leftBehind(st, s.owners)
	s.returning = make(map[string]bool)
	for _, w := range st.Returning() {
		for _, a := range w.HeldFiles() {
			s.returning[string(a.Path)] = true
		}
	}
	return sharers
}

// ofCaller stands in owners for a workstream of a calling pipeline. No workstream has this name.
const ofCaller = "(of a caller)"

// giveToCallers makes workstreams of the calling pipelines the owners of the artifacts that
// they have recorded since.
func (s *Surveyor) giveToCallers(ctx context.Context, st *state.State) {
	if s.MadeByCallers == nil || len(s.owners) == 0 {
		return
	}
	byCallers := s.MadeByCallers()
	for path, owner := range s.owners {
		made := byCallers[path]
		recorded := RecordedArtifact(st, owner, state.Text(path))
		if len(made) == 0 || recorded == nil {
			continue
		}
		now, err := Describe(ctx, s.files, path) // an error is reported when the artifact is compared
		if err == nil && now.Digest != recorded.Digest && slices.Contains(made, now.Digest) {
			s.owners[path] = ofCaller
		}
	}
}

// Edited returns the artifacts on record of a session that were edited since.
func (s *Surveyor) Edited(ctx context.Context, st *state.State) ([]plan.Conflict, error) {
	f := plan.NewFacts(st)
	if err := s.gatherSession(ctx, f); err != nil {
		return nil, err
	}
	f.Sharers = s.gatherOwners(st)
	s.giveToCallers(ctx, st)
	s.findPartial(st)
	if err := s.verifyAll(ctx, f, st, ""); err != nil {
		return nil, err
	}
	var edits []plan.Conflict
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			edits = append(edits, plan.EditedArtifacts(f.Conflicts[ws.Name])...)
		}
	}
	return edits, nil
}

// Owners returns, by path, the workstream that recorded an artifact last. Only workstreams
// whose work is done count.
func (s *Surveyor) Owners(st *state.State) map[string]string {
	owners, _ := s.ownersAndSharers(st)
	return owners
}

// ownersAndSharers returns the owners as Owners does. It also returns, by path, all
// workstreams that recorded an artifact if there are several.
func (s *Surveyor) ownersAndSharers(st *state.State) (owners map[string]string, sharers map[string][]string) {
	owners, sharers = make(map[string]string), make(map[string][]string)
	newest := make(map[string]uint64)
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			rec := st.Workstream(ws.Name)
			if !rec.Done() {
				continue
			}
			for _, a := range rec.Artifacts {
				path := string(a.Path)
				if other := owners[path]; other != "" {
					for _, name := range []string{other, rec.Name} {
						if !slices.Contains(sharers[path], name) {
							sharers[path] = append(sharers[path], name)
						}
					}
				}
				if rec.WorkSeq >= newest[path] {
					owners[path], newest[path] = rec.Name, rec.WorkSeq
				}
			}
		}
	}
	return owners, sharers
}

// leftBehind returns, by path, the artifacts of other workstreams that failed attempts
// changed, with the content that they left. If several attempts changed an artifact, the
// last one counts.
func (s *Surveyor) leftBehind(st *state.State, owners map[string]string) map[string]state.Artifact {
	behind := make(map[string]state.Artifact)
	newest := make(map[string]uint64)
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			rec := st.Workstream(ws.Name)
			if rec == nil || rec.Left == nil {
				continue
			}
			for _, a := range rec.Left.Files {
				path := string(a.Path)
				owner := owners[path]
				if owner == "" || rec.Left.Seq < newest[path] {
					continue
				}
				if left, ok := rec.LeftIn(st.Workstream(owner), a.Path); ok {
					behind[path], newest[path] = left, rec.Left.Seq
				}
			}
		}
	}
	return behind
}

// Recorded returns an artifact from the record, with the content that its workstream made
// or that a failed attempt of another workstream left. It returns nil if the artifact is
// not on record.
func (s *Surveyor) Recorded(st *state.State, workstream string, path state.Text) *state.Artifact {
	if a, ok := s.leftFiles[string(path)]; ok && a.Digest != "" && s.owners[string(path)] == workstream {
		return &a
	}
	return RecordedArtifact(st, workstream, path)
}

// verifyAll verifies the artifacts of all work that is done, and notes which artifacts
// Runner restores before anything starts. For steps that read these artifacts, the
// recorded content counts.
func (s *Surveyor) verifyAll(ctx context.Context, f *plan.Facts, st *state.State, choice plan.OnConflict) error {
	s.restores, s.restoredLinks, s.unrestorable = make(map[string]state.Artifact), make(tree.Links), nil
	for _, phase := range s.p.Phases {
		for _, ws := range phase.Workstreams {
			rec := st.Workstream(ws.Name)
			if !rec.Done() || len(rec.Artifacts) == 0 {
				continue
			}
			if err := s.compareArtifacts(ctx, f, rec); err != nil {
				return err
			}
			if len(f.Conflicts[ws.Name]) == 0 || s.isDisabled(f, ws, st) {
				continue
			}
			for _, c := range f.Conflicts[ws.Name] {
				switch {
				case c.Kept && (c.Found == "" || choice == plan.ConflictRestore):
					s.restores[string(c.Path)] = *s.Recorded(st, ws.Name, c.Path)
				case c.Found == "":
					s.unrestorable = append(s.unrestorable, *s.Recorded(st, ws.Name, c.Path))
				}
			}
		}
	}
	return nil
}

// RecordedArtifact returns an artifact as its workstream recorded it, nil if it is not on
// record.
func RecordedArtifact(st *state.State, workstream string, path state.Text) *state.Artifact {
	rec := st.Workstream(workstream)
	if rec == nil {
		return nil
	}
	for i, a := range rec.Artifacts {
		if a.Path == path {
			return &rec.Artifacts[i]
		}
	}
	return nil
}
