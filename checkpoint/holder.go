package checkpoint

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

// Holder is who holds, or held, a lock. BootID and StartTime tell a process
// from another one that got its number later, PIDNamespace from one that has that
// number in another container.
type Holder struct {
	state.Actor
	Since        time.Time `json:"since"`
	BootID       string    `json:"boot_id,omitempty"`
	PIDNamespace string    `json:"pid_namespace,omitempty"`
	StartTime    string    `json:"start_time,omitempty"`
}

// The note of the holder lies in the lock file itself, which is never
// replaced. It is one record of a fixed length, blank when nobody holds the
// lock or the last one let go of it properly. The first byte is left alone:
// it is what some systems lock, against reading too.
const (
	noteOffset = 1
	noteLen    = 1023
)

// readNote returns the note in a lock file, nil if there is none. It takes no
// lock. One that cannot be understood is a zero Holder.
func readNote(fsys store.FS, path string) (*Holder, error) {
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

// writeNote puts the note of a holder, or with nil none, into a lock file. The
// caller holds the lock. That there is none need not be durable: a note that is
// back after a power cut only has the next owner look more closely.
func writeNote(fsys store.FS, path string, h *Holder) error {
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

// replaceNote writes the record of a note, durably where that is asked for, and
// reports whether the file's name is durable: who left a blank note had made it so.
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

// newHolder describes this process.
func newHolder(by state.Actor, since time.Time) Holder {
	if by.PID == 0 {
		by.PID = os.Getpid()
	}
	if by.Host == "" {
		by.Host, _ = os.Hostname() // "" is told apart by nothing else either
	}
	h := Holder{Actor: by, Since: since, BootID: bootID(), PIDNamespace: pidNamespace()}
	h.StartTime, _ = startTime(by.PID)
	return h
}

// gone reports whether the process is proved to have ended: the machine was
// started anew, no process has its number where that means this process, or that
// one started at another time. Of a process elsewhere nothing is known.
func (h *Holder) gone() bool {
	switch boot := bootID(); {
	case h.onHost() && boot != "" && h.BootID != "" && boot != h.BootID:
		return true
	case !h.here():
		return false
	}
	started, known := startTime(h.PID)
	if !known {
		return !processExists(h.PID)
	}
	return started == "" || h.StartTime != "" && started != h.StartTime
}

// here reports whether a process of this machine that has the number would be the
// holder: host, boot and PID namespace are ours. Containers may share a host's name.
func (h *Holder) here() bool {
	return h.onHost() && h.BootID == bootID() && h.PIDNamespace == pidNamespace()
}

// onHost reports whether the machine has the name of this one. That of a container
// is another one whenever it is started, or the same as that of others.
func (h *Holder) onHost() bool {
	host, err := os.Hostname()
	return err == nil && h.Host != "" && host == h.Host
}

// pidNamespace identifies the namespace that numbers of processes are of, "" where
// there is none.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// bootID identifies the running kernel, "" where it has no name.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// isStopped reports whether the process is known to be stopped, as by Ctrl+Z.
func (h *Holder) isStopped() bool {
	if !h.here() || h.StartTime == "" {
		return false
	}
	state, started, _ := processStat(h.PID)
	return started == h.StartTime && (state == "T" || state == "t")
}

// startTime returns when a process started, in ticks since the machine did;
// "" if there is no such process. It is known only where there is a /proc.
func startTime(pid int) (ticks string, known bool) {
	state, started, known := processStat(pid)
	if state == "Z" {
		return "", true
	}
	return started, known
}

// processStat returns the state of a process, a letter as ps shows it, and when
// it started; both are "" if there is no such process.
func processStat(pid int) (state, started string, known bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		_, err := os.Stat("/proc/self/stat")
		return "", "", err == nil
	}
	// The second field is the command in parentheses, which may hold any.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const at, start = 0, 19 // Fields 3 and 22
	if len(fields) <= start {
		return "", "", true
	}
	return fields[at], fields[start], true
}
