package compare

import (
	"cmp"
	"context"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// maxListings is how many captures are searched for the version of a file.
const maxListings = 20

// Versions finds versions of single files by their digests: in the workspace as it is now, among the
// recorded artifacts, and in the captures of a session, the newest first. It is not safe for use by
// several goroutines.
type Versions struct {
	files     *workspace.Workspace
	artifacts map[state.FileRef]workspace.Entry
	captures  []string // digests of listings that were not read yet
	listings  []*workspace.Listing
}

// NewVersions returns the versions of the files of a session.
func NewVersions(w *workspace.Workspace, st *state.State) *Versions {
	v := &Versions{files: w, artifacts: map[state.FileRef]workspace.Entry{}}
	if st == nil {
		return v
	}
	for made := range st.Records() {
		for _, a := range made.Artifacts {
			v.artifacts[state.FileRef{Path: a.Path, Digest: a.Digest}] = workspace.Entry{Path: string(a.Path), Size: a.Size, Mode: a.Mode, Digest: a.Digest}
		}
	}
	captures := []*state.Capture{st.Capture, st.RunCapture}
	for _, c := range slices.Backward(st.Checkpoints) {
		captures = append(captures, c.Capture)
	}
	for _, c := range captures {
		if c != nil && len(v.captures) < maxListings && !slices.Contains(v.captures, c.Listing) {
			v.captures = append(v.captures, c.Listing)
		}
	}
	return v
}

// Difference returns how a file differs between two versions, which are named by their digests; "" is
// a file that does not exist. It is false if one of the versions is not kept.
func (v *Versions) Difference(ctx context.Context, path, from, to string) (workspace.TextDiff, bool) {
	was, sourceWas, ok := v.find(ctx, path, from)
	if !ok {
		return workspace.TextDiff{}, false
	}
	is, sourceIs, ok := v.find(ctx, path, to)
	if !ok {
		return workspace.TextDiff{}, false
	}
	change := workspace.Change{Path: path, Kind: workspace.Modified, From: was, To: is}
	switch {
	case was == nil && is == nil:
		return workspace.TextDiff{}, false
	case was == nil:
		change.Kind = workspace.Added
	case is == nil:
		change.Kind = workspace.Deleted
	}
	d, err := workspace.DiffText(ctx, change, sourceWas, sourceIs)
	return d, err == nil // a version that can't be read is not kept
}

// find returns the version of a file with a digest, and how to open it. nil is no file.
func (v *Versions) find(ctx context.Context, path, digest string) (*workspace.Entry, workspace.Source, bool) {
	if digest == "" {
		return nil, nil, true
	}
	if now, err := v.files.Describe(ctx, path); err == nil && now.Digest == digest {
		return &now, v.files.OpenNow, true
	}
	kept := v.files.Contents().Open
	if e, ok := v.artifacts[state.FileRef{Path: state.Text(path), Digest: digest}]; ok {
		return &e, kept, true
	}
	for i := 0; ; i++ {
		if i == len(v.listings) && !v.readListing(ctx) {
			return nil, nil, false
		}
		entries := v.listings[i].Entries
		at, found := slices.BinarySearchFunc(entries, path, func(e workspace.Entry, path string) int { return cmp.Compare(e.Path, path) })
		if found && entries[at].Digest == digest {
			return &entries[at], kept, true
		}
	}
}

// readListing reads the next listing. It is false if there is none.
func (v *Versions) readListing(ctx context.Context) bool {
	for len(v.captures) > 0 {
		next := v.captures[0]
		v.captures = v.captures[1:]
		l, err := v.files.Load(ctx, next)
		if err == nil {
			v.listings = append(v.listings, l)
			return true
		}
	}
	return false
}
