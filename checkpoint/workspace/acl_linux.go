package workspace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"prdrunner/checkpoint/workspace/tree"
)

// accessACL is the attribute that has a file's POSIX ACL: a version, and entries of
// a tag, permissions and the number of a user or group, little end first.
const (
	accessACL  = "system.posix_acl_access"
	aclVersion = 2
	aclHead    = 4
	aclEntry   = 8

	aclOwner = 0x01
	aclGroup = 0x04
	aclOther = 0x20
)

// MaskOnly returns the permission bits that a file's mode shows for its group, and
// that the group does not have: with an ACL, the mode shows the ACL's mask there, which is
// what any of the named users and groups may be given.
func maskOnly(f *os.File, perm fs.FileMode) (uint32, error) {
	shown := uint32(perm) & 0o070
	if shown == 0 {
		return 0, nil
	}
	acl, err := readACL(f)
	if err != nil {
		return 0, err
	}
	group, ok := groupOf(acl)
	if !ok {
		return 0, nil
	}
	return shown &^ (group << 3), nil
}

// maskOnlyAt is MaskOnly of a directory. For one that may not be read, the mode counts.
func maskOnlyAt(p tree.Place, perm fs.FileMode) (uint32, error) {
	if perm&0o070 == 0 {
		return 0, nil
	}
	f, err := p.Open()
	if errors.Is(err, fs.ErrPermission) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	bits, err := maskOnly(f, perm)
	return bits, errors.Join(err, f.Close())
}

// groupOf returns what an ACL gives the owning group, if it says so.
func groupOf(acl []byte) (perm uint32, ok bool) {
	if len(acl) < aclHead || binary.LittleEndian.Uint32(acl) != aclVersion {
		return 0, false
	}
	for e := acl[aclHead:]; len(e) >= aclEntry; e = e[aclEntry:] {
		if binary.LittleEndian.Uint16(e) == aclGroup {
			return uint32(binary.LittleEndian.Uint16(e[2:])) & 0o7, true
		}
	}
	return 0, false
}

// plainACL is the ACL that says what a mode does. To set it is to set the mode, and
// to remove any other ACL, at once.
func plainACL(mode fs.FileMode) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range []struct {
		tag  uint16
		perm fs.FileMode
	}{{aclOwner, mode >> 6}, {aclGroup, mode >> 3}, {aclOther, mode}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(e.perm&0o7))
		b = binary.LittleEndian.AppendUint32(b, math.MaxUint32) // nobody by number
	}
	return b
}

// setMode gives a file or directory a mode, and takes its ACL, which it may have got
// from the directory that it was made in: else the mode would become the ACL's mask.
func setMode(f *os.File, mode fs.FileMode) error {
	acl, err := readACL(f)
	if err != nil {
		return err
	}
	if acl != nil {
		err := again(func() error { return unix.Fsetxattr(int(f.Fd()), accessACL, plainACL(mode), 0) })
		if err != nil {
			return fmt.Errorf("remove the ACL of %s: %w", f.Name(), err)
		}
	}
	return f.Chmod(mode)
}

// readACL returns the ACL of a file: nil where it has none, or where the file
// system knows of none.
func readACL(f *os.File) ([]byte, error) {
	const usual, most = aclHead + 16*aclEntry, 64 << 10
	buf := make([]byte, usual)
	for {
		var n int
		err := again(func() (err error) {
			n, err = unix.Fgetxattr(int(f.Fd()), accessACL, buf)
			return err
		})
		switch {
		case err == nil:
			return buf[:n], nil
		case errors.Is(err, unix.ERANGE) && len(buf) < most:
			buf = make([]byte, most)
		case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
			return nil, nil
		default:
			return nil, fmt.Errorf("read the ACL of %s: %w", f.Name(), err)
		}
	}
}

// again repeats what a signal has interrupted.
func again(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
