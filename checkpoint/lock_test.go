package checkpoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// helperEnv is an environment variable that makes the test binary a second runner: it
// locks PRD-009 in the named directory, prints the result, and waits until its standard
// input ends.
const helperEnv = "CHECKPOINT_TEST_LOCK"

func helperProcess() {
	dir := os.Getenv(helperEnv)
	if dir == "" {
		return
	}
	s, err := checkpoint.OpenStore(dir, checkpoint.Options{})
	if err == nil {
		_, err = s.Lock(context.Background(), "PRD-009", state.Actor{User: "other"})
	}
	if err != nil {
		fmt.Println("refused:", err)
	} else {
		fmt.Println("locked")
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends it
	os.Exit(0)
}

// helper is another process that has tried to take the lock.
type helper struct {
	cmd   *exec.Cmd
	said  string
	input io.WriteCloser
}

func startHelper(t *testing.T, dir string) *helper {
	t.Helper()
	h := &helper{cmd: exec.Command(os.Args[0])}
	h.cmd.Env = append(os.Environ(), helperEnv+"="+dir)
	input, err := h.cmd.StdinPipe()
	checkpointtest.Must(t, err)
	h.input = input
	output, err := h.cmd.StdoutPipe()
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, h.cmd.Start())
	h.said, err = bufio.NewReader(output).ReadString('\n')
	checkpointtest.Must(t, err)
	return h
}

func (h *helper) kill(t *testing.T) {
	t.Helper()
	checkpointtest.Must(t, h.cmd.Process.Kill())
	var exit *exec.ExitError
	if err := h.cmd.Wait(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

// TestTwoProcesses: while one process holds the lock, a second must be refused with the
// host and PID of the first. After the first is killed, the lock must be free and the
// next owner must report an unclean end.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	f := checkpointtest.OnDisk(t)
	first := startHelper(t, f.Dir)
	if first.said != "locked\n" {
		t.Fatalf("the first process said %q", first.said)
	}
	host, err := os.Hostname()
	checkpointtest.Must(t, err)
	second := startHelper(t, f.Dir)
	if !strings.Contains(second.said, fmt.Sprintf("host %s, pid %d, since ", host, first.cmd.Process.Pid)) {
		t.Errorf("the second process said %q", second.said)
	}
	second.kill(t)

	s := f.Open()
	_, err = s.Lock(context.Background(), "PRD-009", checkpointtest.By)
	var locked *checkpoint.LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != first.cmd.Process.Pid || locked.Holder.User != "other" {
		t.Fatalf("lock: %v", err)
	}
	owner, err := s.Owner("PRD-009")
	checkpointtest.Must(t, err)
	if owner == nil || owner.PID != first.cmd.Process.Pid {
		t.Errorf("owner %+v", owner)
	}

	first.kill(t)
	if owner, err := s.Owner("PRD-009"); err != nil || owner != nil {
		t.Errorf("after the kill: owner %+v, %v", owner, err)
	}
	x := f.Lock()
	if !x.Unclean() {
		t.Error("Unclean is false after a killed owner")
	}
	checkpointtest.Must(t, x.Close())
}

// latecomer is a file system that calls note before a lock file is opened for the second
// time.
type latecomer struct {
	store.FS
	looks int
	note  func()
}

func (l *latecomer) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if filepath.Ext(name) == ".lock" {
		if l.looks++; l.looks == 2 {
			l.note()
		}
	}
	return l.FS.OpenFile(name, flag, perm)
}

// TestLockedErrorNamesTheLivingOwner: an owner takes the lock, reads the journal, and
// only then writes its note. A LockedError must name this owner once the note is there,
// and until then no owner: the older note is not of this owner.
func TestLockedErrorNamesTheLivingOwner(t *testing.T) {
	t.Parallel()
	dead := disk.NewHolder(state.Actor{User: "dead", PID: 1 << 30}, checkpointtest.Clock()())
	for name, before := range map[string]*disk.Holder{"no note": nil, "a dead owner's note": &dead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := store.NewMemory()
			f := checkpointtest.On(t, memory, "/ws/.runner")
			checkpointtest.Must(t, f.Lock().Close())
			path := f.Open().Layout().LockPath("PRD-009")
			checkpointtest.Must(t, disk.WriteNote(memory, path, before))
			held, err := memory.TryLock(path, false)
			checkpointtest.Must(t, err)
			living := disk.NewHolder(state.Actor{User: "living"}, checkpointtest.Clock()())
			late := checkpointtest.On(t, &latecomer{FS: memory, note: func() { checkpointtest.Must(t, disk.WriteNote(memory, path, &living)) }}, "/ws/.runner")
			var locked *checkpoint.LockedError
			if _, err := late.Open().Lock(t.Context(), "PRD-009", checkpointtest.By); !errors.As(err, &locked) || locked.Holder.User != "living" {
				t.Errorf("lock: %v", err)
			}
			checkpointtest.Must(t, disk.WriteNote(memory, path, before))
			if _, err := f.Open().Lock(t.Context(), "PRD-009", checkpointtest.By); !errors.As(err, &locked) || locked.Holder != (disk.Holder{}) {
				t.Errorf("before the owner has written its note: %v", err)
			}
			checkpointtest.Must(t, held.Unlock())
		})
	}
}

// TestHolderGone: HasEnded must be true only if the holder ran on this machine, in this
// PID namespace, and its process no longer exists.
func TestHolderGone(t *testing.T) {
	t.Parallel()
	me := disk.NewHolder(state.Actor{}, checkpointtest.Clock()())
	change := func(f func(h *disk.Holder)) *disk.Holder {
		h := me
		f(&h)
		return &h
	}
	for name, tt := range map[string]struct {
		h    *disk.Holder
		gone bool
	}{
		"alive":                    {&me, false},
		"another start time":       {change(func(h *disk.Holder) { h.StartTime = "1" }), me.StartTime != ""},
		"another boot":             {change(func(h *disk.Holder) { h.BootID = "another" }), me.BootID != ""},
		"another machine":          {change(func(h *disk.Holder) { h.Host, h.PID = "elsewhere", 1<<30 }), false},
		"another PID namespace":    {change(func(h *disk.Holder) { h.PIDNamespace, h.PID = "pid:[1]", 1<<30 }), false},
		"of an earlier version":    {change(func(h *disk.Holder) { h.PIDNamespace, h.PID = "", 1<<30 }), me.PIDNamespace == ""},
		"no such process":          {change(func(h *disk.Holder) { h.PID = 1 << 30 }), true},
		"a note that nobody reads": {&disk.Holder{}, false},
	} {
		if got := tt.h.HasEnded(); got != tt.gone {
			t.Errorf("%s: gone %t", name, got)
		}
	}
}

// TestStateDirectory: OpenStore must accept a directory that is missing, empty, a fresh
// file system or Runner's own. It must refuse links, files, directories that everybody
// may write to, and directories with other files.
func TestStateDirectory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	mkdir := func(name string, perm fs.FileMode) string {
		path := filepath.Join(base, name)
		checkpointtest.Must(t, os.Mkdir(path, perm))
		checkpointtest.Must(t, os.Chmod(path, perm))
		return path
	}
	foreign := mkdir("foreign", 0o700)
	checkpointtest.Must(t, os.WriteFile(filepath.Join(foreign, "thesis.txt"), []byte("x"), 0o600))
	own := mkdir("own", 0o700)
	checkpointtest.Must(t, os.WriteFile(filepath.Join(own, "PRD-009.json"), []byte("{}"), 0o600))
	link := filepath.Join(base, "link")
	checkpointtest.Must(t, os.Symlink(own, link))
	file := filepath.Join(base, "file")
	checkpointtest.Must(t, os.WriteFile(file, nil, 0o600))

	volume := mkdir("volume", 0o700) // the root of an ext4 file system
	checkpointtest.Must(t, os.Mkdir(filepath.Join(volume, "lost+found"), 0o700))

	for path, want := range map[string]string{
		filepath.Join(base, "missing"): "",
		mkdir("empty", 0o700):          "",
		own:                            "",
		volume:                         "",
		mkdir("open", 0o777):           "everybody may write to it",
		foreign:                        "nothing in it is Runner's",
		link:                           "symbolic link",
		file:                           "not a directory",
	} {
		_, err := checkpoint.OpenStore(path, checkpoint.Options{})
		var dir *disk.DirError
		switch {
		case want == "" && err != nil, want != "" && (!errors.As(err, &dir) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(base, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("OpenStore created the state directory")
	}
}

// overtaken is a file system in which another process creates the state directory as soon as
// it was looked for.
type overtaken struct {
	store.FS
	create func()
}

// Lstat looks for the file, and creates the state directory if the file is its directory of
// locks.
func (s overtaken) Lstat(name string) (fs.FileInfo, error) {
	info, err := s.FS.Lstat(name)
	if filepath.Base(name) == disk.LocksDir {
		s.create()
	}
	return info, err
}

// TestStateDirectoryOfAnotherRunner opens a state directory that another runner creates at
// the same moment. It must be taken for Runner's.
func TestStateDirectoryOfAnotherRunner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".runner")
	layout := disk.NewLayout(dir, store.OS(), false)
	created := 0
	files := overtaken{store.OS(), func() {
		created++
		checkpointtest.Must(t, layout.MakeRoot())
	}}
	if _, err := checkpoint.OpenStore(dir, checkpoint.Options{FS: files}); err != nil || created == 0 {
		t.Errorf("open: %v; the other runner created the directory %d times", err, created)
	}
}

// TestForeignOwner: OpenStore must refuse a directory that belongs to another user.
func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("only root can give a directory away")
		}
		t.Skip("only root can give a directory away")
	}
	dir := t.TempDir()
	checkpointtest.Must(t, os.Chown(dir, 12345, -1))
	var refused *disk.DirError
	if _, err := checkpoint.OpenStore(dir, checkpoint.Options{}); !errors.As(err, &refused) {
		t.Errorf("open: %v", err)
	}
}

// TestLinkedSessionDirectory: owners and readers must refuse a PRD directory that is a
// symbolic link.
func TestLinkedSessionDirectory(t *testing.T) {
	t.Parallel()
	f := checkpointtest.OnDisk(t)
	x := f.Run()
	checkpointtest.Must(t, x.Close())
	dir := filepath.Join(f.Dir, "PRD-009")
	checkpointtest.Must(t, os.Rename(dir, dir+"-real"))
	checkpointtest.Must(t, os.Symlink(dir+"-real", dir))
	var refused *disk.DirError
	if _, err := f.Open().Lock(context.Background(), "PRD-009", checkpointtest.By); !errors.As(err, &refused) {
		t.Errorf("lock: %v", err)
	}
	if _, err := f.Open().Load("PRD-009"); !errors.As(err, &refused) {
		t.Errorf("load: %v", err)
	}
}

// TestModes: all files and directories must have the modes of package store, no temporary
// file may remain, and `latest` must name an existing file.
func TestModes(t *testing.T) {
	t.Parallel()
	f := checkpointtest.OnDisk(t)
	x := f.Run()
	x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Must(t, x.Close())
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := store.FilePerm
		switch {
		case d.IsDir():
			want = store.DirPerm
		case d.Type() == fs.ModeSymlink:
			return nil
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		if store.IsTemp(path) {
			t.Errorf("temporary file %s remains", path)
		}
		return nil
	})
	checkpointtest.Must(t, err)
	target, err := os.Readlink(filepath.Join(f.Dir, "PRD-009/latest"))
	checkpointtest.Must(t, err)
	if _, err := os.Stat(filepath.Join(f.Dir, "PRD-009", target)); err != nil {
		t.Errorf("latest: %v", err)
	}
	if got := string(f.Read(".gitignore")); got != "*\n" {
		t.Errorf(".gitignore: %q", got)
	}
}

// TestLeftoversGoUnderTheLock creates leftovers of a killed owner and other files. A
// reader must remove nothing, and the next owner must remove exactly the leftovers of its
// PRD.
func TestLeftoversGoUnderTheLock(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	kept, _ := x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	checkpointtest.Kill(t, x)
	leftovers := []string{
		".tmp-PRD-009.json-A", "locks/.tmp-PRD-009.refs-A", "PRD-009/.tmp-journal.jsonl-B", "PRD-009/checkpoints/.tmp-x-C",
		"PRD-009/run/WS1.1", "PRD-009/checkpoints/CP-nobody-20250101T000000Z-00000000.json",
		"PRD-009/inbox/1.request.json",
	}
	others := []string{".tmp-PRD-010.json-A", "PRD-009/logs/WS1.1.log", "PRD-009/checkpoints/" + kept + ".json"}
	for _, name := range append(leftovers, others[:2]...) {
		f.Write(name, []byte("x"))
	}
	if _, err := f.Open().Load("PRD-009"); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(leftovers, others...) {
		f.Read(name)
	}
	checkpointtest.Must(t, f.Lock().Close())
	for _, name := range leftovers {
		if _, err := f.FS.Lstat(filepath.Join(f.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s still exists", name)
		}
	}
	for _, name := range others {
		f.Read(name)
	}
}

// TestLockHonoursContext: Lock must fail if the context has ended, and must refuse an id
// that does not match the pattern.
func TestLockHonoursContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	f := checkpointtest.InMemory(t)
	if _, err := f.Open().Lock(ctx, "PRD-009", checkpointtest.By); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lock: %v", err)
	}
	if _, err := f.Open().Lock(context.Background(), "../009", checkpointtest.By); err == nil || !strings.Contains(err.Error(), "it must be PRD- and three digits or more") {
		t.Errorf("lock: %v", err)
	}
}
