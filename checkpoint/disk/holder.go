package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Holder identifies the process that holds, or held, a lock. BootID and StartTime
// distinguish a process from a later one with the same PID; PIDNamespace distinguishes it
// from a process with the same PID in another container.
type Holder struct {
	state.Actor
	Since        time.Time `json:"since"`
	BootID       string    `json:"boot_id,omitempty"`
	PIDNamespace string    `json:"pid_namespace,omitempty"`
	StartTime    string    `json:"start_time,omitempty"`
}

// The holder's note is in the lock file itself, which is never replaced. The note is one
// record of fixed length. It is blank if the lock was never held, or its last holder
// released it properly. The first byte of the file is not part of the note: some systems
// lock that byte, against reading too.
const (
	noteOffset = 1
	noteLen    = 1023
)

// ReadNote returns the note in a lock file, nil if it is blank or there is no file. It
// takes no lock. For a note that cannot be decoded it returns a zero Holder.
func ReadNote(fsys store.FS, path string) (*Holder, error) {
	f, err := store.OpenRegular(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	buf := make([]byte, noteLen)
	n, err := f.ReadAt(buf, noteOffset)
	if closed := f.Close(); err == nil || errors.Is(err, io.EOF) {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	note := bytes.TrimSpace(buf[:n])
	if len(note) == 0 {
		return nil, nil
	}
	var h Holder
	if err := json.Unmarshal(note, &h); err != nil {
		return &Holder{}, nil
	}
	return &h, nil
}

// WriteNote writes the note of a holder into a lock file, or a blank note if h is nil. The
// caller holds the lock. A blank note need not be durable: if a power cut brings the old
// one back, the next owner only makes more checks.
func WriteNote(fsys store.FS, path string, h *Holder) error {
	var note []byte
	if h != nil {
		var err error
		if note, err = json.Marshal(h); err != nil {
			return fmt.Errorf("encode the holder of %s: %w", path, err)
		}
		if len(note) >= noteLen {
			return fmt.Errorf("write %s: the holder's name is too long", path)
		}
	}
	record := bytes.Repeat([]byte(" "), noteOffset+noteLen)
	copy(record[noteOffset:], note)
	record[len(record)-1] = '\n'
	f, err := fsys.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	named, err := replaceNote(f, record[noteOffset:], h != nil)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && h != nil && !named {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replaceNote writes the record of a note, and syncs it if durable is set. It reports
// whether the file's name is durable already: a blank note shows that an earlier holder
// synced the directory.
func replaceNote(f store.File, record []byte, durable bool) (named bool, err error) {
	was := make([]byte, len(record))
	if n, err := f.ReadAt(was, noteOffset); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	} else if n == len(was) {
		named = len(bytes.TrimSpace(was)) == 0
	}
	_, err = f.WriteAt(record, noteOffset)
	if err == nil && durable {
		err = f.Sync()
	}
	return named, err
}

// NewHolder returns the Holder for this process.
func NewHolder(by state.Actor, since time.Time) Holder {
	if by.PID == 0 {
		by.PID = os.Getpid()
	}
	if by.Host == "" {
		by.Host, _ = os.Hostname() // on failure "", which matches no host
	}
	h := Holder{Actor: by, Since: since, BootID: bootID(), PIDNamespace: pidNamespace()}
	h.StartTime, _ = startTime(by.PID)
	return h
}

// HasEnded reports whether the process has provably ended: the machine was started again
// since, or, if this process is in the same PID namespace, no process has the PID now, or
// one that started at another time. A process elsewhere is never known to have ended.
func (h *Holder) HasEnded() bool {
	switch boot := bootID(); {
	case h.onHost() && boot != "" && h.BootID != "" && boot != h.BootID:
		return true
	case !h.IsLocal():
		return false
	}
	started, known := startTime(h.PID)
	if !known {
		return !processExists(h.PID)
	}
	return started == "" || h.StartTime != "" && started != h.StartTime
}

// IsLocal reports whether a process with the holder's PID on this machine would be the
// holder: host, boot and PID namespace are those of this process. The host alone is not
// enough, since containers may share a host name.
func (h *Holder) IsLocal() bool {
	return h.onHost() && h.BootID == bootID() && h.PIDNamespace == pidNamespace()
}

// onHost reports whether the holder's host name is that of this machine. A container may
// get a new host name at each start, or share one with other containers.
func (h *Holder) onHost() bool {
	host, err := os.Hostname()
	return err == nil && h.Host != "" && host == h.Host
}

// pidNamespace returns the identity of this process's PID namespace, "" if the system has
// none.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// bootID returns the ID of the current boot of the machine, "" if the system has none.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// IsStopped reports whether the process is known to be stopped, for example by Ctrl+Z.
func (h *Holder) IsStopped() bool {
	if !h.IsLocal() || h.StartTime == "" {
		return false
	}
	state, started, _ := processStat(h.PID)
	return started == h.StartTime && (state == "T" || state == "t")
}

// startTime returns when a process started, in ticks since the machine did; "" if there is
// no such process, or it is a zombie. known is false on systems without /proc.
func startTime(pid int) (ticks string, known bool) {
	state, started, known := processStat(pid)
	if state == "Z" {
		return "", true
	}
	return started, known
}

// processStat returns the state of a process, as the letter that ps shows, and when it
// started. Both are "" if there is no such process.
func processStat(pid int) (state, started string, known bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		_, err := os.Stat("/proc/self/stat")
		return "", "", err == nil
	}
	// The second field is the command in parentheses, which may contain any character.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const at, start = 0, 19 // Fields 3 and 22
	if len(fields) <= start {
		return "", "", true
	}
	return fields[at], fields[start], true
}
