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

// accessACL is the extended attribute that holds a file's POSIX ACL: a version, then
// entries of a tag, permissions and the id of a user or group, all little-endian.
const (
	accessACL  = "system.posix_acl_access"
	aclVersion = 2
	aclHead    = 4
	aclEntry   = 8

	aclOwner = 0x01
	aclGroup = 0x04
	aclOther = 0x20
)

// maskOnly returns the permission bits that a file's mode shows for the group but that
// the group does not have. With an ACL, the mode shows the mask of the ACL there: the
// permissions that the ACL can give at most to any named user or group.
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

// maskOnlyAt does the same as maskOnly, for a directory. If Runner may not read the
// directory, it returns 0, so that the mode counts.
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

// groupOf returns the permissions that an ACL gives the owning group; false if it has no
// such entry.
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

// plainACL returns the ACL that is equivalent to a mode. Setting it sets the mode and
// removes any other ACL in one step.
func plainACL(mode fs.FileMode) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range []struct {
		tag  uint16
		perm fs.FileMode
	}{{aclOwner, mode >> 6}, {aclGroup, mode >> 3}, {aclOther, mode}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(e.perm&0o7))
		b = binary.LittleEndian.AppendUint32(b, math.MaxUint32) // no user or group id
	}
	return b
}

// setMode sets the mode of a file or directory and removes its ACL, which it may have
// inherited from its directory. With that ACL, the mode would become the ACL's mask.
func setMode(f *os.File, mode fs.FileMode) error {
	acl, err := readACL(f)
	if err != nil {
		return err
	}
	if acl != nil {
		err := retryInterrupted(func() error { return unix.Fsetxattr(int(f.Fd()), accessACL, plainACL(mode), 0) })
		if err != nil {
			return fmt.Errorf("remove the ACL of %s: %w", f.Name(), err)
		}
	}
	return f.Chmod(mode)
}

// readACL returns the ACL of a file; nil if it has none, or if the file system does not
// support ACLs.
func readACL(f *os.File) ([]byte, error) {
	const usual, most = aclHead + 16*aclEntry, 64 << 10
	buf := make([]byte, usual)
	for {
		var n int
		err := retryInterrupted(func() (err error) {
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

// retryInterrupted calls do until no signal interrupts it.
func retryInterrupted(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
