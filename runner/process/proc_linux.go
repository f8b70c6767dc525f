package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prdrunner/runner"
)

// commandLimit bounds the command line in the description of a leftover, in bytes.
const commandLimit = 1 << 10

// procInfo holds the fields of /proc/PID/stat.
type procInfo struct {
	pid, parent, group int
	zombie             bool
	began              uint64 // clock ticks since boot
	name               string
}

// readProc reports false if the process does not exist.
func readProc(pid int) (procInfo, bool) {
	data, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return procInfo{}, false
	}
	return parseStat(pid, string(data))
}

// parseStat parses a line "pid (name) state parent group session …". The name may contain
// spaces and parentheses.
func parseStat(pid int, line string) (procInfo, bool) {
	first, last := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if first < 0 || last < first {
		return procInfo{}, false
	}
	fields := strings.Fields(line[last+1:])
	const state, parent, group, began = 0, 1, 2, 19
	if len(fields) <= began {
		return procInfo{}, false
	}
	info := procInfo{pid: pid, name: line[first+1 : last]}
	info.zombie = fields[state] == "Z" || fields[state] == "X"
	var errs [3]error
	info.parent, errs[0] = strconv.Atoi(fields[parent])
	info.group, errs[1] = strconv.Atoi(fields[group])
	info.began, errs[2] = strconv.ParseUint(fields[began], 10, 64)
	return info, errs == [3]error{}
}

// readEnviron returns the environment that a process started with. It is empty for a zombie
// and for a process that Runner may not read.
func readEnviron(pid int) []byte {
	data, err := os.ReadFile(procPath(pid, "environ"))
	if err != nil {
		return nil
	}
	return data
}

// lookUpEnviron returns the first value of a variable.
func lookUpEnviron(environ []byte, name string) (string, bool) {
	prefix := []byte(name + "=")
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, prefix); ok {
			return string(value), true
		}
	}
	return "", false
}

// describe returns the description of a leftover. It masks the command line, which may
// contain sensitive values.
func (e *Executor) describe(info procInfo, environ []byte, hide bool) runner.Leftover {
	command := "[" + info.name + "]"
	if data, err := os.ReadFile(procPath(info.pid, "cmdline")); err == nil && len(data) > 0 {
		command = strings.ReplaceAll(strings.TrimRight(string(data), "\x00"), "\x00", " ")
	}
	command = e.masked(hide, command)
	if len(command) > commandLimit {
		command = strings.ToValidUTF8(command[:commandLimit], "") + "…"
	}
	workstream, _ := lookUpEnviron(environ, workstreamVariable)
	return runner.Leftover{PID: info.pid, Command: command, Task: workstream}
}

// orphans returns the pids of the processes that the kernel handed to Runner, and perhaps
// of other children of Runner. The caller holds e.mu, under which children are reaped: the
// kernel's list skips entries when others vanish during the read.
func (s system) orphans() ([]int, error) {
	if s.children < 0 {
		return s.scanChildren()
	}
	var list []byte
	buffer := make([]byte, 4096)
	for {
		n, err := unix.Pread(s.children, buffer, int64(len(list)))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the list of children: %w", err)
		}
		if n == 0 {
			break
		}
		list = append(list, buffer[:n]...)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(list)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("read the list of children: %w", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// scanChildren finds the children of all threads, for kernels without lists of children.
func (s system) scanChildren() ([]int, error) {
	pids, err := allProcesses()
	return slices.DeleteFunc(pids, func(pid int) bool {
		info, ok := readProc(pid)
		return !ok || info.parent != s.pid
	}), err
}

// allProcesses returns the pids of all visible processes.
func allProcesses() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func procPath(pid int, file string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + file
}
