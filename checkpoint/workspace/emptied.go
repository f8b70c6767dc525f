package workspace

import "prdrunner/checkpoint/workspace/tree"

// Emptied returns the directories that lose their last file between two listings.
// Directories that were empty before are not among them.
func Emptied(from, to *Listing) []string {
	seen := map[string]bool{}
	for _, e := range to.Entries {
		if e.isDir() {
			seen[e.Path] = true
		}
		for dir := range tree.Parents(e.Path) {
			seen[dir] = true
		}
	}
	var dirs []string
	for _, c := range Diff(from, to) {
		if c.To != nil {
			continue
		}
		for dir := range tree.Parents(c.Path) {
			if !seen[dir] {
				seen[dir] = true
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}
