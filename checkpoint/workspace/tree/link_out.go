package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A Root refuses to follow a link that leads out of it, and every absolute link. A file
// behind a link that leads out of the tree counts as absent, so that a directory that was
// replaced by such a link is treated like one that was removed.

// LinkOut returns the link, above a path or at the path, that leads out of the workspace
// or in circles, and the link's target. It returns "" if no link does.
func (t *Tree) LinkOut(path string) (link, text string) {
	textOf := t.linkTexts(nil)
	r := t.resolve(path, textOf)
	if r.end == endsInside || len(r.links) == 0 {
		return "", ""
	}
	link = r.links[len(r.links)-1]
	text, _ = textOf(link)
	return link, text
}

// checkDirectory returns an error if a directory can't be opened without following a link.
func (t *Tree) checkDirectory(dir string) error {
	return t.At(dir+"/", func(*os.Root, string) error { return nil })
}

// MarkOutside adds ErrBehindLink to an error about a path if a link above the path leads
// out of the workspace. So the path counts as absent.
func (t *Tree) MarkOutside(path string, err error) error {
	if !RefusedByRoot(err) {
		return err
	}
	if link, _ := t.LinkOut(Parent(path)); link != "" {
		return fmt.Errorf("%w: %w", ErrBehindLink, err)
	}
	return err
}

// RefusedByRoot reports whether an error about a path may be a Root's refusal to follow a
// link.
func RefusedByRoot(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && !IsAbsent(err) && !errors.Is(err, fs.ErrPermission)
}
