package state

import (
	"cmp"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace"
)

// record counts a capture that was recorded.
func (c *Captures) record(seq uint64, e WorkspaceCaptured) {
	c.AsOf, c.Behind = seq, 0
	if e.TookMS > 0 {
		c.Made++
		c.TookMS += e.TookMS
	}
}

// FilesAsOf returns the last commit at which the files are known to be as captured, 0
// where they were never captured.
func (s *State) FilesAsOf() uint64 {
	if s.Capture == nil {
		return 0
	}
	return max(s.Captures.AsOf, s.Capture.Seq)
}

// DoneSince returns the workstreams whose work was recorded after a commit, in the order
// of recording.
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

// CapturedByRun reports whether a run made the last capture. After a capture by another
// command a run records one even if nothing changed, because gates judge the captures of
// runs.
func (s *State) CapturedByRun() bool {
	return s.Capture != nil && s.RunCapture != nil && s.RunCapture.Seq == s.Capture.Seq
}

// CaptureIsHeld reports whether a valid checkpoint holds the files of the last capture,
// with the same commit of the branch. It is true where nothing was ever captured.
func (s *State) CaptureIsHeld() bool {
	return s.Capture == nil || slices.ContainsFunc(s.Checkpoints, func(ref *CheckpointRef) bool {
		return ref.Valid && ref.Capture != nil && ref.Capture.Listing == s.Capture.Listing &&
			(!s.Capture.OnBranch() || ref.Capture.Commit == s.Capture.Commit)
	})
}

// IsArtifact reports whether a recorded artifact has this path.
func (s *State) IsArtifact(path string) bool {
	return slices.ContainsFunc(RecordedFiles(s), func(e workspace.Entry) bool { return e.Path == path })
}

// Whole reports whether a capture with these patterns holds every file of the workspace.
// It does not if a file was left out because it changed or was no regular file.
func (c *Capture) Whole(patterns []string) bool {
	return c.Unstable+c.Special == 0 && c.Unlimited(patterns)
}

// Unlimited reports whether a capture with these patterns covers the whole workspace.
func (c *Capture) Unlimited(patterns []string) bool {
	return c.InGit() || slices.Contains(patterns, "**") || slices.Contains(patterns, "**/*")
}

// InGit reports whether the capture used git's list of files.
func (c *Capture) InGit() bool { return c.Commit != "" }

// Scope returns the files that a capture with these patterns covers.
func (c *Capture) Scope(patterns []string) workspace.Scope {
	return workspace.Scope{Git: c.InGit(), Patterns: patterns}
}

// Unloaded wraps the error of reading the capture's listing.
func (c *Capture) Unloaded(err error) error {
	return fmt.Errorf("load the files of commit %d: %w", c.Seq, err)
}

// listedBytes is far more than one file takes in a listing.
const listedBytes = 512

// ShallowSize returns an upper bound of the bytes of a capture and its listing.
func (c *Capture) ShallowSize() int64 { return c.Bytes + listedBytes*int64(c.Files) }
