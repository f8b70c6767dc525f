// Package failpoint is where a program under test is killed, loses its power,
// or is told of a fault: at the nth operation that changes a disk. Everything
// that writes state or restores files calls it before each such operation.
//
// In a program that is built without the tag failpoint it does nothing, and
// the compiler leaves nothing of it behind. With the tag, these variables of
// the environment say what is to happen:
//
//	RUNNER_FAILPOINT      ACTION@N[+][:OP[,OP...][/FILE]], at the Nth operation of the
//	                      kinds OP, on a file of that name in whichever directory,
//	                      and with + at all that follow it
//	RUNNER_FAILPOINT_LOG  a file that gets a line for each operation counted
//	RUNNER_FAILPOINT_CUT  a directory of the file system that is cut
//
// An ACTION is kill (SIGKILL before the operation), torn (of a write the first
// half happens before that), cut1 and cut2 (the file system is shut down by
// EXT4_IOC_SHUTDOWN with this flag, and then SIGKILL), delay=DURATION, a signal
// that asks the process to end (SIGINT, SIGTERM; after SIGQUIT no operation
// follows), or the name of an error: EIO, ENOSPC, EDQUOT, EROFS, EMFILE. With
// such a one a write is short: its first half happens.
package failpoint

// Op is a kind of operation.
type Op string

// The operations that change a disk are counted unless others are asked for.
// Those that only read are counted if they are asked for by name.
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
