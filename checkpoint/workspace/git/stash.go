package git

import (
	"context"
	"errors"
	"time"
)

// Stash is what a commit in the form of git stash holds: how the index and the work tree
// differ from HEAD.
type Stash struct {
	Ref       string // refs/runner/…; it keeps the commit
	Message   string
	When      time.Time
	Head      string       // the commit that HEAD names
	Index     []IndexEntry // where the index differs from Head
	WorkTree  []IndexEntry // where the work tree differs from Head, among the files that Head or the index has
	Untracked []IndexEntry // other files of the work tree
}

// Stashed names the commits of a stash.
type Stashed struct {
	Commit    string `json:"commit"`              // of the work tree; its parents are HEAD and the next two
	Index     string `json:"index"`               // of the index
	Untracked string `json:"untracked,omitempty"` // of the untracked files; "": there are none
}

// WriteStash writes a commit that git stash can apply, and that is not in the list of
// stashes. It changes neither the work tree nor the index. The repository must have the
// blobs of all entries. The commit is durable when WriteStash returns.
func (g *Repository) WriteStash(ctx context.Context, s Stash) (stashed Stashed, err error) {
	index := CommitOptions{Ref: s.Ref + "-index", Message: "index of " + s.Message, Base: s.Head, Parent: s.Head, When: s.When}
	untracked := CommitOptions{Ref: s.Ref + "-untracked", Message: "untracked files of " + s.Message, When: s.When}
	// The commit of the work tree has the other two among its parents, and so keeps them.
	defer func() {
		err = errors.Join(err, g.DeleteRefs(context.WithoutCancel(ctx), []string{index.Ref, untracked.Ref}))
	}()
	if stashed.Index, err = g.writeEntries(ctx, index, s.Index); err != nil {
		return Stashed{}, err
	}
	whole := CommitOptions{Ref: s.Ref, Message: s.Message, Base: s.Head, Parent: s.Head, Merged: []string{stashed.Index}, When: s.When}
	if len(s.Untracked) > 0 {
		if stashed.Untracked, err = g.writeEntries(ctx, untracked, s.Untracked); err != nil {
			return Stashed{}, err
		}
		whole.Merged = append(whole.Merged, stashed.Untracked)
	}
	stashed.Commit, err = g.writeEntries(ctx, whole, s.WorkTree)
	return stashed, err
}

// writeEntries writes a commit with the given entries.
func (g *Repository) writeEntries(ctx context.Context, o CommitOptions, entries []IndexEntry) (commit string, err error) {
	w, err := g.Begin(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	for _, e := range entries {
		if e.Absent() {
			err = w.Delete(e.Path)
		} else {
			err = w.AddBlob(e.Path, e.Mode, e.Blob)
		}
		if err != nil {
			return "", err
		}
	}
	return w.Commit(ctx)
}
