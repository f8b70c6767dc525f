package state

import (
	"cmp"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace"
)

// add takes in a capture that is on record.
func (c *Captures) add(seq uint64, e WorkspaceCaptured) {
	c.AsOf, c.Behind = seq, 0
	if e.TookMS > 0 {
		c.Made++
		c.TookMS += e.TookMS
	}
}

// FilesAsOf is the last commit as of which the files of a state were captured, 0 where
// they never were.
func (s *State) FilesAsOf() uint64 {
	if s.Capture == nil {
		return 0
	}
	return max(s.Captures.AsOf, s.Capture.Seq)
}

// DoneSince returns the workstreams that did the work that is on record of them after
// a commit, in the order of their steps.
func (s *State) DoneSince(seq uint64) []*Workstream {
	var done []*Workstream
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if (w.Status == Completed || w.Status == Succeeded) && w.RecordedSeq() > seq {
				done = append(done, w)
			}
		}
	}
	slices.SortStableFunc(done, func(a, b *Workstream) int { return cmp.Compare(a.RecordedSeq(), b.RecordedSeq()) })
	return done
}

// CapturedByRun reports whether a run made the last capture. What is as somebody else
// captured it is captured by a run all the same: that judges it.
func (s *State) CapturedByRun() bool {
	return s.Capture != nil && s.RunCapture != nil && s.RunCapture.Seq == s.Capture.Seq
}

// CaptureIsHeld reports whether a checkpoint that can be gone back to has the files of
// the last capture, and the same commit of the branch. It is true where nothing was ever captured.
func (s *State) CaptureIsHeld() bool {
	return s.Capture == nil || slices.ContainsFunc(s.Checkpoints, func(ref *CheckpointRef) bool {
		return ref.Valid && ref.Capture != nil && ref.Capture.Listing == s.Capture.Listing &&
			(!s.Capture.OnBranch() || ref.Capture.Commit == s.Capture.Commit)
	})
}

// IsArtifact reports whether a path is that of a recorded artifact.
func (s *State) IsArtifact(path string) bool {
	return slices.ContainsFunc(RecordedFiles(s), func(e workspace.Entry) bool { return e.Path == path })
}

// Whole reports whether a capture of the given patterns took in everything in
// the workspace: not only what a pipeline declares, and every file of that.
func (c *Capture) Whole(patterns []string) bool {
	return c.Unstable+c.Special == 0 && c.Unlimited(patterns)
}

// Unlimited reports whether everything in the workspace is in scope of a
// capture of the given patterns.
func (c *Capture) Unlimited(patterns []string) bool {
	return c.InGit() || slices.Contains(patterns, "**") || slices.Contains(patterns, "**/*")
}

// InGit reports whether a capture looked at what git shows.
func (c *Capture) InGit() bool { return c.Commit != "" }

// Scope is what a capture of the given patterns looked at.
func (c *Capture) Scope(patterns []string) workspace.Scope {
	return workspace.Scope{Git: c.InGit(), Patterns: patterns}
}

// Unloaded says that the listing of a capture could not be read.
func (c *Capture) Unloaded(err error) error {
	return fmt.Errorf("load the files of commit %d: %w", c.Seq, err)
}

// listedBytes is more than a file takes in a listing, by far.
const listedBytes = 512

// ShallowSize is more than a capture holds with its listing.
func (c *Capture) ShallowSize() int64 { return c.Bytes + listedBytes*int64(c.Files) }
