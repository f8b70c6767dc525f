// Package failpoint injects faults into a program under test: it kills the program, cuts
// the power of its file system, or returns an error, at the nth operation that changes a
// disk. Code that writes state or restores files calls Before before each such operation.
//
// Without the build tag failpoint, Before does nothing, and the compiler removes it. With
// the tag, environment variables select the fault:
//
//	RUNNER_FAILPOINT      ACTION@N[+][:OP[,OP...][/FILE]], at the Nth operation of the
//	                      kinds OP, on a file of that name in any directory,
//	                      and with + at all later ones too
//	RUNNER_FAILPOINT_LOG  a file that gets a line for each operation counted
//	RUNNER_FAILPOINT_CUT  a directory on the file system that is cut
//
// An ACTION is one of:
//
//   - kill: SIGKILL before the operation;
//   - torn: like kill, after the first half of a write;
//   - cut1, cut2: shut the file system down by EXT4_IOC_SHUTDOWN with flag 1 or 2, then
//     kill;
//   - delay=DURATION;
//   - SIGINT, SIGTERM, SIGQUIT: send the signal to the process; after SIGQUIT it starts no
//     further operation;
//   - EIO, ENOSPC, EDQUOT, EROFS, EMFILE: return the error, after the first half of a
//     write.
//
// To add an operation, add an Op here and a call of Before; to add an action, extend parse
// and before in on.go.
package failpoint

// Op is a kind of operation.
type Op string

// Operations that change a disk are counted by default. Operations that only read are
// counted if RUNNER_FAILPOINT names them.
const (
	Create  Op = "create" // a file, or its truncation
	Write   Op = "write"
	Sync    Op = "sync"
	Close   Op = "close" // of a file that may have been written to
	Chmod   Op = "chmod"
	Mkdir   Op = "mkdir"
	Rename  Op = "rename"
	Link    Op = "link"
	Symlink Op = "symlink"
	Remove  Op = "remove"
	SyncDir Op = "syncdir"
	Lock    Op = "lock"
	Change  Op = "change" // of a name in a directory of the workspace

	Open    Op = "open"
	Read    Op = "read"
	ReadDir Op = "readdir"
	Lstat   Op = "lstat"
)
