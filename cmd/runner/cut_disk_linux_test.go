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

// extShutdown is EXT4_IOC_SHUTDOWN. Flag 1 writes the journal of the file system first,
// flag 2 drops it. Neither writes the content of files.
const extShutdown = 0x8004587D

// cutDisk is an ext4 file system in an image file, whose power a test can cut. The image
// is in memory, and only the goroutine of the test and the processes that it starts see
// the mount. When they end, the kernel removes mount and image.
//
// Programs take a cut for a restart of the machine: after each cut they see another boot
// id.
type cutDisk struct {
	t       *testing.T
	dir     string // where the file system is mounted
	home    string // a directory in memory, which survives a cut
	images  int    // number of the current image
	mounted bool
	option  string // of mount
}

// diskSize is the size of a disk in bytes, enough for thousands of small files.
const diskSize = 64 << 20

// newCutDisk makes a disk with an empty file system, and mounts it.
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

// ownMounts gives this goroutine and the processes that it starts mounts of their own. It
// locks the goroutine to its thread, and the thread ends with the goroutine.
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

// skipUnlessCI skips a test that this machine can't run. In CI it fails the test instead,
// because a skipped test proves nothing.
func skipUnlessCI(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// mountTmpfs mounts a file system in memory with these options, and returns its
// directory. The caller must have called ownMounts.
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

// format makes an empty file system on the image and mounts it.
func (d *cutDisk) format() {
	d.t.Helper()
	d.must(os.WriteFile(d.image(), nil, 0o600))
	d.must(os.Truncate(d.image(), diskSize))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", d.image()).CombinedOutput(); err != nil {
		skipUnlessCI(d.t, fmt.Sprintf("make an ext4: %v\n%s", err, out))
	}
	d.mount("")
}

// mount mounts the file system and sets a new boot id, as a start of the machine does.
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

// unmountTime bounds how long a killed process may take to end.
const unmountTime = 10 * time.Second

// unmount unmounts the file system. As long as that is busy, unmount kills the processes
// that work there and tries again.
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

// killThere kills the processes whose working directory is in the file system. On a
// machine without power they would have ended.
func (d *cutDisk) killThere() {
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	d.must(err)
	for _, link := range all {
		target, err := os.Readlink(link)
		if err == nil && (target == d.dir || strings.HasPrefix(target, d.dir+"/")) {
			var pid int
			if _, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL) // the process may have ended
			}
		}
	}
}

// restart mounts the file system again after a cut. The kernel replays its journal.
func (d *cutDisk) restart() {
	d.t.Helper()
	d.unmount()
	d.mount(d.option)
}

// cut cuts the power of the disk. Running processes keep running and can write nothing.
func (d *cutDisk) cut(flag uint32) {
	d.t.Helper()
	dir, err := os.Open(d.dir)
	d.must(err)
	d.must(shutDown(dir, flag))
	d.must(dir.Close())
}

// shutDown cuts the power of the file system that dir is on. It may be called on any
// thread, even on one that doesn't see the mount.
func shutDown(dir *os.File, flag uint32) error {
	return unix.IoctlSetPointerInt(int(dir.Fd()), extShutdown, int(flag))
}

// trigger returns the path of a file in /sys. A write to that file makes ext4 find an
// error in the file system.
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

// diskImage is the content of a disk: its chunks by offset, without those of zeros.
type diskImage struct{ chunks map[int64][]byte }

// save flushes everything to the disk and returns the content of the disk.
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

// load writes a saved content to a new image and mounts that image.
func (d *cutDisk) load(all diskImage, option string) {
	d.t.Helper()
	d.unmount()
	d.must(os.Remove(d.image()))
	d.images++ // the kernel may still use the old image
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

// cutRun is the result of a command during which the power was cut.
type cutRun struct {
	code   int  // -1: killed
	before bool // the command ended before the cut
	took   time.Duration
	stdout []byte
	stderr string
}

// said reports whether the command had reported success.
func (r cutRun) said() bool { return r.code == 0 }

// run runs a command, cuts the power after the given time, or when the command ends if
// that is earlier, and restarts the machine. If after is negative, the command cuts the
// power itself.
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

// cutAfter cuts the power after the given time, or when the command ends if that is
// earlier. It waits for the end of the command, and reports whether the command ended
// before the cut.
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
		_ = cmd.Process.Kill() // if the command has not ended
	}()
	_ = cmd.Wait()
	close(ended)
	d.must(<-cut)
	return before
}

// halt stops a process between two of its system calls. If ext4 is shut down during an
// fsync, the fsync sometimes returns success, and the process would report its work as
// done. A real disk without power never confirms an fsync.
func halt(pid int) {
	_ = unix.Kill(pid, unix.SIGSTOP) // the process may have ended
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < unmountTime; <-tick.C {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err == nil && !slices.ContainsFunc(tasks, isRunning) {
			return
		}
	}
}

// isRunning reports whether the thread of a /proc/…/stat file is neither stopped nor
// ended.
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
