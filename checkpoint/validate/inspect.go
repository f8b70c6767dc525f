package validate

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Inspection describes a checkpoint.
type Inspection struct {
	Check   CheckpointCheck
	File    *disk.CheckpointFile // nil if neither the checkpoint's file nor the journal has it
	Unread  error                // why File is nil
	LeftOut []string             // sensitive files that the capture left out
	// Unstable are files that the capture left out because they kept changing. Special are
	// paths that it left out because they are unreadable, too large or no files.
	Unstable, Special []string
}

// Intact reports whether the checkpoint and the objects that it refers to are whole.
func (i *Inspection) Intact() bool { return i.File != nil && i.Check.Whole() }

// Inspect examines a checkpoint of a state and the objects that it refers to. It takes
// no lock and changes nothing; Store.Read gives the state. If the checkpoint's file is
// damaged, Inspect rebuilds it from the journal where possible.
func Inspect(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, of *state.State, ref *state.CheckpointRef) (*Inspection, error) {
	at := reader.StoredSession{PRD: of.PRD, Place: disk.PlaceCurrent, Dir: s.Layout().PRDDir(of.PRD), State: of}
	check, err := newChecker(s, w, false).checkCheckpoint(ctx, at, ref)
	if err != nil {
		return nil, err
	}
	check.Current = ref == of.CurrentCheckpoint()
	found := &Inspection{Check: *check}
	if check.Journal {
		found.File, err = s.Reader().Session(of.PRD, at.Dir).Rebuild(ref.ID)
	} else {
		found.File, err = s.ReadFile(of, ref)
	}
	if err != nil {
		found.File, found.Unread = nil, err
		return found, nil
	}
	if c := found.File.State.Capture; c != nil && c.LeftOut+c.Unstable+c.Special > 0 && w != nil {
		if l, err := w.Load(ctx, c.Listing); err == nil { // if not, the check reports the loss
			found.LeftOut, found.Unstable, found.Special = l.LeftOut, l.Unstable, l.Special
		}
	}
	return found, nil
}
