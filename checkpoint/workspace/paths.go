package workspace

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// PathsByDigest returns the paths of regular workspace files by the digest of their
// content. It reads the files that match the patterns of a listing, and those at the paths
// of its entries.
func PathsByDigest(ctx context.Context, w *Workspace, l *Listing) (map[string]string, error) {
	patterns := slices.Clone(l.Patterns)
	for _, e := range l.Entries {
		patterns = append(patterns, tree.EscapeGlob(e.Path))
	}
	now, err := w.Now(ctx, patterns)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	files := map[string]string{}
	for _, e := range now.Entries {
		if e.Mode == e.Mode&0o777 {
			files[e.Digest] = e.Path
		}
	}
	return files, nil
}
