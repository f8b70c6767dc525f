package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// extShutdown is EXT4_IOC_SHUTDOWN. Flag 1 writes the log of the file system
// first, flag 2 drops it; no file's content is written with either.
const extShutdown = 0x8004587D

// cutDisk is an ext4 in a file whose power can be cut. It lies in memory and is
// mounted where only this test's goroutine, and what that starts, can see it:
// when they end, however they do, the kernel takes everything away.
//
// To the programs that are started a cut is a restart of the machine: the
// kernel they see has another name afterwards.
type cutDisk struct {
	t       *testing.T
	dir     string // of the file system
	home    string // in memory, outlives a cut
	images  int
	mounted bool
	option  string
}

// diskSize is enough for thousands of small files.
const diskSize = 64 << 20

// newCutDisk makes a disk with an empty file system on it.
func newCutDisk(t *testing.T) *cutDisk {
	t.Helper()
	ownMounts(t)
	d := &cutDisk{t: t, home: mountTmpfs(t, "size=400m")}
	d.dir = filepath.Join(d.home, "disk")
	d.must(os.Mkdir(d.dir, 0o755))
	t.Cleanup(d.unmount)
	d.must(os.WriteFile(d.bootFile(), nil, 0o600))
	d.must(unix.Mount(d.bootFile(), "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, ""))
	d.format()
	return d
}

// ownMounts gives this goroutine, and what it starts, mounts of its own. Its
// thread ends with it.
func ownMounts(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		skipUnlessCI(t, "mounting file systems needs root")
	}
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err != nil {
		skipUnlessCI(t, fmt.Sprint("a process can't have mounts of its own here: ", err))
	}
}

// skipUnlessCI skips a test that can't be run here. In CI a skipped test would
// prove nothing.
func skipUnlessCI(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// mountTmpfs mounts a file system in memory, with options of its own. The
// caller has had mounts of its own.
func mountTmpfs(t *testing.T, options string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		skipUnlessCI(t, fmt.Sprint("mount a file system in memory: ", err))
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func (d *cutDisk) bootFile() string { return filepath.Join(d.home, "boot_id") }

func (d *cutDisk) image() string { return filepath.Join(d.home, fmt.Sprint("image", d.images)) }

// format begins with an empty file system.
func (d *cutDisk) format() {
	d.t.Helper()
	d.must(os.WriteFile(d.image(), nil, 0o600))
	d.must(os.Truncate(d.image(), diskSize))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", d.image()).CombinedOutput(); err != nil {
		skipUnlessCI(d.t, fmt.Sprintf("make an ext4: %v\n%s", err, out))
	}
	d.mount("")
}

// mount starts the machine.
func (d *cutDisk) mount(option string) {
	d.t.Helper()
	options := "loop"
	if option != "" {
		options += "," + option
	}
	if out, err := exec.Command("mount", "-t", "ext4", "-o", options, d.image(), d.dir).CombinedOutput(); err != nil {
		skipUnlessCI(d.t, fmt.Sprintf("mount an ext4: %v\n%s", err, out))
	}
	d.mounted, d.option = true, option
	boot := fmt.Sprintf("%08x-0000-4000-8000-%012x\n", rand.Uint32(), rand.Uint64()>>16) //nolint:gosec // a name, no secret
	d.must(os.WriteFile(d.bootFile(), []byte(boot), 0o600))
}

// unmountTime bounds how long what was killed may take to end.
const unmountTime = 10 * time.Second

// unmount waits for what still has files open there, which a cut has ended.
func (d *cutDisk) unmount() {
	d.t.Helper()
	if !d.mounted {
		return
	}
	d.mounted = false
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		err := unix.Unmount(d.dir, 0)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Since(began) > unmountTime {
			_ = unix.Unmount(d.dir, unix.MNT_DETACH)
			d.t.Fatalf("unmount %s: %v", d.dir, err)
		}
		d.killThere()
	}
}

// killThere kills what works in the file system: it has no power.
func (d *cutDisk) killThere() {
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	d.must(err)
	for _, link := range all {
		target, err := os.Readlink(link)
		if err == nil && (target == d.dir || strings.HasPrefix(target, d.dir+"/")) {
			var pid int
			if _, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
			}
		}
	}
}

// restart starts the machine again after a cut. The kernel replays the log.
func (d *cutDisk) restart() {
	d.t.Helper()
	d.unmount()
	d.mount(d.option)
}

// cut cuts the power. What runs still runs, and can write nothing.
func (d *cutDisk) cut(flag uint32) {
	d.t.Helper()
	dir, err := os.Open(d.dir)
	d.must(err)
	d.must(shutDown(dir, flag))
	d.must(dir.Close())
}

// shutDown may be called on any thread.
func shutDown(dir *os.File, flag uint32) error {
	return unix.IoctlSetPointerInt(int(dir.Fd()), extShutdown, int(flag))
}

// trigger is a file: who writes to it has the file system find an error in itself.
func (d *cutDisk) trigger() string {
	d.t.Helper()
	mounts, err := os.ReadFile("/proc/thread-self/mounts")
	d.must(err)
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[1] == d.dir {
			return filepath.Join("/sys/fs/ext4", filepath.Base(fields[0]), "trigger_fs_error")
		}
	}
	d.t.Fatalf("%s is not mounted", d.dir)
	return ""
}

// diskImage is what is on a disk.
type diskImage struct{ chunks map[int64][]byte }

// save writes everything to the disk, and returns what is on it.
func (d *cutDisk) save() diskImage {
	d.t.Helper()
	d.unmount()
	f, err := os.Open(d.image())
	d.must(err)
	all := diskImage{map[int64][]byte{}}
	const chunk = 1 << 12
	data, zeros := make([]byte, chunk), make([]byte, chunk)
	for at := int64(0); at < diskSize; at += chunk {
		_, err := f.ReadAt(data, at)
		d.must(err)
		if !bytes.Equal(data, zeros) {
			all.chunks[at] = bytes.Clone(data)
		}
	}
	d.must(f.Close())
	d.mount("")
	return all
}

// load puts what was saved on another disk, and starts the machine with that.
func (d *cutDisk) load(all diskImage, option string) {
	d.t.Helper()
	d.unmount()
	d.must(os.Remove(d.image()))
	d.images++ // the kernel may not have let go of the other one
	f, err := os.Create(d.image())
	d.must(err)
	d.must(f.Truncate(diskSize))
	for at, data := range all.chunks {
		_, err := f.WriteAt(data, at)
		d.must(err)
	}
	d.must(f.Close())
	d.mount(option)
}

// cutRun is how a command went whose power was cut.
type cutRun struct {
	code   int  // -1: killed
	before bool // it had ended before the cut
	took   time.Duration
	stdout []byte
	stderr string
}

// said reports whether the command had said that it was done.
func (r cutRun) said() bool { return r.code == 0 }

// run runs a command below the directory, cuts the power after a while, or at
// once if it has ended before, and starts the machine again. after < 0: the
// command cuts it by itself.
func (d *cutDisk) run(cmd *exec.Cmd, after time.Duration, flag uint32) cutRun {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(cmd.Env, "TMPDIR="+d.dir) // a rescue copy must not outlive the cut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = unmountTime
	dir, err := os.Open(d.dir)
	d.must(err)
	began := time.Now()
	d.must(cmd.Start())
	var r cutRun
	if after < 0 {
		_ = cmd.Wait()
		r.before = cmd.ProcessState.ExitCode() >= 0
	} else {
		r.before = d.cutAfter(cmd, after, flag, dir)
	}
	r.took = time.Since(began)
	d.must(dir.Close())
	r.code, r.stdout, r.stderr = cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.String()
	if after < 0 && r.before {
		d.cut(flag)
	}
	d.restart()
	return r
}

// cutAfter cuts the power of a command after a while, waits for its end, and
// reports whether that came first.
func (d *cutDisk) cutAfter(cmd *exec.Cmd, after time.Duration, flag uint32, dir *os.File) (before bool) {
	d.t.Helper()
	ended, cut := make(chan struct{}), make(chan error, 1)
	go func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-ended:
			before = true
		case <-timer.C:
			halt(cmd.Process.Pid)
		}
		cut <- shutDown(dir, flag)
		_ = cmd.Process.Kill() // if it has not ended
	}()
	_ = cmd.Wait()
	close(ended)
	d.must(<-cut)
	return before
}

// halt stops a process between two of its system calls. An fsync that waits
// while ext4 is shut down is told, at times, that all went well, and whoever
// believed that would go on to say so: no disk without power does that.
func halt(pid int) {
	_ = unix.Kill(pid, unix.SIGSTOP) // it may have ended
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < unmountTime; <-tick.C {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err == nil && !slices.ContainsFunc(tasks, isRunning) {
			return
		}
	}
}

// isRunning reports whether a thread is neither stopped nor at its end.
func isRunning(stat string) bool {
	data, err := os.ReadFile(stat)
	if err != nil {
		return false
	}
	state := bytes.TrimSpace(data[bytes.LastIndexByte(data, ')')+1:])
	return len(state) > 0 && !bytes.ContainsRune([]byte("TtZX"), rune(state[0]))
}

func (d *cutDisk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}
