package objects

import (
	"errors"
	"io/fs"
)

// Has reports whether an object of the given name and size is there, or was
// added, so that its bytes need not be. It does not read it. Commit makes sure
// that its name is durable, which it need not be: whoever wrote it may have
// been cut short.
func (b *Batch) Has(r Ref) (bool, error) {
	n, err := parse(r.Digest)
	if err != nil {
		return false, err
	}
	if err := b.failed(); err != nil {
		return false, err
	}
	_, there, err := b.has(n, r.Size)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !there {
		return false, nil
	}
	return true, b.prepare()
}
