package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var faultAll = flag.Bool("fault.all", false, "exhaust space and inodes at every point of a run, not only at some")

// diskFault is a resource that runs out during a run: on a file system in memory, or by a
// limit.
type diskFault struct {
	name    string
	options func(level int) string // mount options of the file system; nil: plenty of everything
	limit   func(level int) string // shell command that sets a limit; nil: none
	fill    func(level int) string // shell command by which a workstream fills DISK; nil: none
	meets   []string               // kinds of files that must have found no room at one of the levels
	levels  []int
	says    string // text of the error
}

func diskFaults() []diskFault {
	return []diskFault{
		{
			name:    "no space",
			options: func(kilobytes int) string { return fmt.Sprintf("size=%dk", kilobytes) },
			levels:  []int{20, 60, 100, 140, 180, 220, 260, 300, 340, 380, 420, 460},
			says:    "no space left on device",
		},
		{
			name:    "no inodes",
			options: func(inodes int) string { return fmt.Sprintf("size=64m,nr_inodes=%d", inodes) },
			levels:  []int{6, 12, 18, 24, 30, 36, 42, 48, 54, 60, 66, 72},
			says:    "no space left on device",
		},
		{
			name:    "no space in mid-run",
			options: func(int) string { return "size=8m" },
			fill: func(pages int) string {
				return fmt.Sprintf("head -c $((($(stat -f -c %%a DISK) - %d) * 4096)) /dev/zero > DISK/ballast", pages)
			},
			levels: someBelow(66, 0, 2, 4, 7, 10, 16, 24, 40, 52, 56, 57, 58, 59, 60, 61),
			says:   "no space left on device",
			meets:  []string{"step", "object", "journal", "checkpoint", "document"},
		},
		{
			name:    "no inodes in mid-run",
			options: func(int) string { return "size=8m,nr_inodes=400" },
			fill: func(inodes int) string {
				return fmt.Sprintf("mkdir DISK/ballast; for i in $(seq $(($(stat -f -c %%d DISK) - %d))); do : > DISK/ballast/$i; done", inodes)
			},
			levels: someBelow(24, 0, 1, 3, 6, 9, 12, 15, 16, 17, 20),
			says:   "no space left on device",
			meets:  []string{"step", "object", "checkpoint"}, // it varies whether the checkpoint or the manifest takes the last inode
		},
		{
			name:   "short writes",
			limit:  func(blocks int) string { return fmt.Sprintf("ulimit -f %d", blocks) }, // blocks of 512 bytes
			levels: []int{1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28},
			says:   "file too large",
		},
		{
			name:   "no descriptors",
			limit:  func(files int) string { return fmt.Sprintf("ulimit -n %d", files) },
			levels: []int{8, 10, 12, 13, 14, 15, 16, 18, 20, 24, 28, 32},
			says:   "too many open files",
		},
	}
}

// someBelow returns the given levels or, with -fault.all, all levels below n.
func someBelow(n int, some ...int) []int {
	if !*faultAll {
		return some
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// kindsOf returns the kinds of files that the errors in the output name. The kind step
// stands for a log, outputs or artifacts that a workstream could not write: then the
// workstream fails.
func kindsOf(told, says string) (kinds []string) {
	if strings.Contains(told, `"kind":"workstream.failed","workstream":"wide"`) {
		kinds = append(kinds, "step")
	}
	for kind, name := range map[string]string{
		"object": `/objects/`, "journal": `/(\.tmp-)?journal\.jsonl`, "checkpoint": `/(\.tmp-)?CP-`,
		"document": `/\.tmp-PRD-001\.json`, "manifest": `/\.tmp-manifest\.json`,
	} {
		if regexp.MustCompile(name + `[^ ]*: ` + says).MatchString(told) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// faultPipeline makes about 120 KB of artifacts, which Runner stores once more as
// objects. After the disk is filled, Runner still has to write these, one after the other
// and each several pages long: a log, outputs, an artifact, its object, a journal line, a
// checkpoint and the PRD document.
const faultPipeline = `
pipeline "PRD-001" {
  phase "one" {
    max_parallel = 1
    workstream "small" {
      for_each  = toset(["a", "b", "c"])
      artifacts = ["gen/${each.key}"]
      script    = "mkdir -p gen; seq 1000 > gen/${each.key}"
    }
    workstream "large" {
      depends_on = [workstream.small]
      artifacts  = ["gen/large"]
      script     = "seq 9000 > gen/large"
    }
    workstream "wide" {
      depends_on = [workstream.large]
      artifacts  = ["gen/wide/*"]
      script     = <<-EOT
        mkdir -p gen/wide
        for i in $(seq 100); do echo same > gen/wide/a_name_that_makes_the_document_longer_than_what_is_written_before_it_$i; done
        FILL
        seq 1500
        echo "wide=$(seq -s, 1500)" > $RUNNER_OUTPUT
        seq 1500 > gen/wide/numbers
      EOT
    }
  }
  phase "two" {
    workstream "last" {
      artifacts = ["last/*"]
      script    = "mkdir -p last; cat gen/large gen/a > last/joined; wc last/joined > last/count"
    }
  }
}
`

// TestDiskFaults runs builds in which space, inodes, file sizes or descriptors run out at
// several points. What a build printed must be on record, every checkpoint must be whole,
// and the error must say what ran out. With room again, a resumed build must complete.
func TestDiskFaults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := buildBinary(t)
	for _, fault := range diskFaults() {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			ownMounts(t)
			met, kinds := 0, map[string]int{}
			for i, level := range fault.levels {
				if len(fault.meets) == 0 && !inSample(i, 3) {
					continue
				}
				f := &faulty{fault: fault, level: level, what: fmt.Sprintf("%s at %d", fault.name, level)}
				f.rollbackKiller = rollbackKiller{t: t, binary: binary}
				f.place(i%2 == 1, i%3 == 2)
				if f.meets() {
					met++
				}
				for _, kind := range f.kinds {
					kinds[kind]++
				}
			}
			t.Logf("%s: %d of %d runs were cut short; %s", fault.name, met, len(fault.levels), inOrder(kinds))
			for _, kind := range fault.meets {
				if kinds[kind] == 0 {
					t.Errorf("%s: the %s could be written at each of the levels %v: -fault.all shows where it can't", fault.name, kind, fault.levels)
				}
			}
			if met == 0 || *full && met < 3 {
				t.Error("too few runs met the fault to prove anything")
			}
		})
	}
}

// faulty is one run that meets a fault.
type faulty struct {
	rollbackKiller
	fault     diskFault
	level     int
	what      string // the fault and the level, for messages
	disk      string // the file system on which the fault happens
	state     string
	rescue    string   // the directory for rescue copies
	kinds     []string // as kindsOf returns them
	elsewhere bool     // only the state is on the faulty disk, and the workspace is not
}

// place makes the workspace and the directories for state and rescue copies. The state is
// always on the disk with the fault. With rescueThere the rescue copies are there, too;
// with elsewhere the workspace is not.
func (f *faulty) place(rescueThere, elsewhere bool) {
	f.t.Helper()
	options := "size=64m"
	if f.fault.options != nil {
		options = f.fault.options(f.level)
	}
	f.disk, f.elsewhere = mountTmpfs(f.t, options), elsewhere
	f.dir, f.rescue = f.disk, f.t.TempDir()
	f.state = filepath.Join(f.disk, ".runner")
	if elsewhere {
		f.dir = f.t.TempDir()
	}
	if rescueThere {
		f.rescue = f.disk
	}
	f.writePipeline(faultPipeline)
}

// writePipeline writes a pipeline, in which the script line FILL fills the disk once if
// the fault asks for that.
func (f *faulty) writePipeline(text string) {
	f.t.Helper()
	fill := ":"
	if f.fault.fill != nil {
		once := filepath.Join(f.t.TempDir(), "once")
		fill = fmt.Sprintf("test -e %s || { : > %[1]s; %s; }", once, strings.ReplaceAll(f.fault.fill(f.level), "DISK", f.disk))
	}
	f.write("PRD-001.hcl", strings.ReplaceAll(text, "FILL", fill), 0o644)
}

// command returns a command that runs the binary, under the limit of the fault if limited
// is set.
func (f *faulty) command(limited bool, args ...string) *exec.Cmd {
	cmd := exec.Command(f.binary, args...)
	if limited && f.fault.limit != nil {
		script := f.fault.limit(f.level) + `; exec "$0" "$@"`
		cmd = exec.Command("sh", append([]string{"-c", script, f.binary}, args...)...)
	}
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+f.rescue, "PRDRUNNER_CHECKPOINT_STORAGE_LOCATION="+f.state)
	return cmd
}

// works runs a command that must succeed, and returns its output.
func (f *faulty) works(args ...string) []byte {
	f.t.Helper()
	out, err := f.command(false, args...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s: %v: %v\n%s", f.what, args, err, out)
	}
	return out
}

// meets runs the pipeline with the fault, checks the state, removes the fault and resumes
// the run. It reports whether the first run met the fault, and so failed.
func (f *faulty) meets() bool {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := f.command(true, "--output", "json", "build", "PRD-001", "--resume=auto")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	code := cmd.ProcessState.ExitCode()
	told := stdout.String() + stderr.String()
	if code < 0 || strings.Contains(told, "goroutine ") {
		f.t.Fatalf("%s: %v\n%s", f.what, err, told)
	}
	f.kinds = kindsOf(told, f.fault.says)
	f.checkSession(stdout.Bytes())
	if code != 0 && code != 1 && !strings.Contains(told, f.fault.says) { // 1: a workstream failed
		f.t.Fatalf("%s: exit code %d, and the output does not contain %q:\n%s", f.what, code, f.fault.says, told)
	}
	if code != 0 && !strings.Contains(told, "runner build PRD-001 --resume") && !strings.Contains(told, "then run the command again") {
		f.t.Fatalf("%s: the output does not say how to resume:\n%s", f.what, told)
	}
	if strings.Count(told, "the journal can take nothing more") > 1 {
		f.t.Errorf("%s: the same error is printed twice:\n%s", f.what, told)
	}
	if f.fault.options != nil {
		f.must(unix.Mount("tmpfs", f.disk, "tmpfs", unix.MS_REMOUNT, "size=64m,nr_inodes=10000"))
	}
	f.works("--output", "json", "build", "PRD-001", "--resume=auto")
	f.ended()
	return code != 0
}

// checkSession checks the session after a fault, and returns its journal. Every event in
// shown, the output of the build, must be on record, readers must work and every
// checkpoint must be whole.
func (f *faulty) checkSession(shown []byte) []journalLine {
	f.t.Helper()
	journal := readJournal(f.t, filepath.Join(f.state, "PRD-001", "journal.jsonl"))
	recorded := recordedEvents(journal)
	for line := range bytes.Lines(shown) {
		if event, ok := shownEvent(line); ok && !recorded[event] {
			f.t.Fatalf("%s: %q was printed and is not on record", f.what, event)
		}
	}
	if len(journal) > 0 {
		f.works("status", "PRD-001", "--json")
		f.works("checkpoint", "list", "PRD-001", "--json")
		f.works("checkpoint", "validate", "PRD-001", "--deep")
	}
	return journal
}

// ended checks that no completed workstream has run again, that every checkpoint is
// whole, that the artifacts have the right content, and that no temporary files are left.
func (f *faulty) ended() {
	f.t.Helper()
	noReruns(f.t, f.what, readJournal(f.t, filepath.Join(f.state, "PRD-001", "journal.jsonl")))
	f.works("checkpoint", "validate", "PRD-001", "--deep")
	var numbers strings.Builder
	for i := range 9000 {
		fmt.Fprintln(&numbers, i+1)
	}
	large := numbers.String()
	small := large[:strings.Index(large, "1001\n")]
	got := map[string]string{}
	for _, name := range []string{"gen/a", "gen/b", "gen/c", "gen/large", "last/joined"} {
		got[name] = string(read(f.t, f.path(name)))
	}
	want := map[string]string{"gen/a": small, "gen/b": small, "gen/c": small, "gen/large": large, "last/joined": large + small}
	if !maps.Equal(got, want) {
		f.t.Fatalf("%s: the artifacts have the wrong content", f.what)
	}
	f.must(filepath.WalkDir(f.state, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), ".tmp-") {
			f.t.Errorf("%s: the temporary file %s is left", f.what, path)
		}
		return err
	}))
}

// TestReadOnlyInMidRun makes ext4 find an error in the file system while a workstream
// runs, so that the kernel makes the file system read-only. The build, and a resumed
// build, must report that. Once the file system is writable again, a resumed build must
// complete the session.
func TestReadOnlyInMidRun(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	d := newCutDisk(t)
	d.unmount()
	d.mount("errors=remount-ro")
	f := &faulty{what: "read-only", disk: d.dir, state: filepath.Join(d.dir, ".runner"), rescue: t.TempDir()}
	f.rollbackKiller = rollbackKiller{t: t, binary: binary, dir: d.dir}
	once := filepath.Join(d.home, "once")
	script := fmt.Sprintf("test -e %s || { touch %[1]s; sync; echo found > %s; }; seq 9000 > gen/large", once, d.trigger())
	f.writePipeline(strings.Replace(faultPipeline, "seq 9000 > gen/large", script, 1))

	var stdout, stderr bytes.Buffer
	cmd := f.command(false, "--output", "json", "build", "PRD-001")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	told := stdout.String() + stderr.String()
	if code := cmd.ProcessState.ExitCode(); code <= 0 || !strings.Contains(told, "read-only file system") {
		t.Fatalf("exit code %d (%v)\n%s", code, err, told)
	}
	for _, text := range []string{f.state, "runner build PRD-001 --resume"} {
		if !strings.Contains(told, text) {
			t.Errorf("the output does not contain %q:\n%s", text, told)
		}
	}
	f.checkSession(stdout.Bytes())
	out, err := f.command(false, "build", "PRD-001", "--resume").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("a resumed build does not report the read-only file system: %v\n%s", err, out)
	}
	d.unmount()
	d.mount("")
	f.works("build", "PRD-001", "--resume")
	f.ended()
}

// TestSlowSync delays one sync of the journal, that of the start of a workstream, for
// longer than the timeout of every workstream. No workstream may time out. Meanwhile,
// status must show that the runner is alive, and a second build must be refused because
// the session is locked.
func TestSlowSync(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t, "failpoint")
	f := &faulty{what: "slow sync", rescue: t.TempDir()}
	f.rollbackKiller = rollbackKiller{t: t, binary: binary, dir: t.TempDir()}
	f.state = filepath.Join(f.dir, ".runner")
	f.writePipeline(strings.ReplaceAll(faultPipeline, "artifacts =", "timeout = \"8s\"\nartifacts ="))
	const delay = 10 * time.Second
	log := filepath.Join(f.rescue, "log")
	f.must(os.WriteFile(log, nil, 0o600))
	slow := f.command(false, "--output", "json", "build", "PRD-001")
	slow.Env = append(slow.Env, fmt.Sprintf("RUNNER_FAILPOINT=delay=%s@4:sync/journal.jsonl", delay), "RUNNER_FAILPOINT_LOG="+log)
	var stdout, stderr bytes.Buffer
	slow.Stdout, slow.Stderr = &stdout, &stderr
	f.must(slow.Start())
	ended := make(chan error, 1)
	go func() { ended <- slow.Wait() }()
	for tick := time.NewTicker(time.Millisecond); bytes.Count(read(t, log), []byte("\n")) < 4; <-tick.C {
		select {
		case err := <-ended:
			t.Fatalf("the build ended before the slow sync: %v\n%s", err, stderr.Bytes())
		default:
		}
	}
	began := time.Now()
	if out := f.works("status", "PRD-001"); !strings.Contains(string(out), fmt.Sprint("pid ", slow.Process.Pid)) {
		t.Errorf("status does not show that the runner is alive:\n%s", out)
	}
	second := f.command(false, "build", "PRD-001", "--resume")
	out, err := second.CombinedOutput()
	if second.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), fmt.Sprint("pid ", slow.Process.Pid)) {
		t.Errorf("a second build is not refused: %v\n%s", err, out)
	}
	if took := time.Since(began); took >= delay {
		t.Errorf("status and the second build took %s, as long as the slow sync", took)
	}
	if err := <-ended; err != nil {
		t.Fatalf("the run ended with %v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	f.ended()
}
