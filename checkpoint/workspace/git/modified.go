package git

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// FileStatus says how a file differs from HEAD.
type FileStatus string

// The statuses of files. There is none for a renamed file: it counts as a deleted and an
// added one.
const (
	FileAdded      FileStatus = "added"      // the index has it, HEAD does not
	FileModified   FileStatus = "modified"   // its content, its mode or its kind differs
	FileDeleted    FileStatus = "deleted"    // the work tree or the index lacks it
	FileUntracked  FileStatus = "untracked"  // the index lacks it, and no rule ignores it
	FileConflicted FileStatus = "conflicted" // a merge left it with a conflict
)

// Modified is a file that differs from HEAD.
type Modified struct {
	Path   string // ends with a slash if it is another repository, which git does not track
	Status FileStatus
	Staged bool // the index differs from HEAD
}

// Modified lists the files below the directory that differ from HEAD: first those that git
// tracks, then the untracked ones, each sorted by path. A file that only the index deletes
// is in the list twice, as deleted and as untracked. Paths in except, and those below them,
// are not listed. Submodules count as modified if another commit is checked out; Modified
// does not look into them. Git may run clean filters to compare files.
func (g *Repository) Modified(ctx context.Context, except []string) ([]Modified, error) {
	c := g.command("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty", "--", ".")
	for _, path := range except {
		c.Args = append(c.Args, ":(exclude,literal)"+path)
	}
	c.Env = append(c.Env, "GIT_LITERAL_PATHSPECS=0")
	var all []Modified
	err := g.eachRecord(ctx, c, func(record string) error {
		m, err := parseModified(record, g.prefix)
		all = append(all, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask git which files differ from HEAD: %w", err)
	}
	slices.SortFunc(all, func(a, b Modified) int {
		untracked := func(m Modified) int {
			if m.Status == FileUntracked {
				return 1
			}
			return 0
		}
		return cmp.Or(untracked(a)-untracked(b), strings.Compare(a.Path, b.Path))
	})
	return all, nil
}

// parseModified reads "XY path", where X is how the index differs from HEAD and Y how the
// work tree differs from the index. The path begins with the prefix, which is removed.
func parseModified(record, prefix string) (Modified, error) {
	unexpected := fmt.Errorf("unexpected line %q", record)
	if len(record) < len("XY ") || record[2] != ' ' {
		return Modified{}, unexpected
	}
	path, below := strings.CutPrefix(record[3:], prefix)
	if !below || path == "" {
		return Modified{}, unexpected
	}
	m := Modified{Path: path, Staged: record[0] != ' ' && record[0] != '?'}
	switch code := record[:2]; code {
	case "??":
		m.Status = FileUntracked
	case "DD", "AU", "UD", "UA", "DU", "AA", "UU":
		m.Status = FileConflicted
	case " D", "MD", "TD", "AD", "D ":
		m.Status = FileDeleted
	case "A ", "AM", "AT", " A":
		m.Status = FileAdded
	case "M ", "MM", "MT", " M", " T", "T ", "TM", "TT", "DA":
		m.Status = FileModified
	default:
		return Modified{}, unexpected
	}
	return m, nil
}
