package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/store/faults/seed"
)

var workflowKills = flag.Int("workflow.kills", 0, "at how many moments each workflow is killed; 0: at one moment that follows from the commit")

// workflow is a pipeline like those of real projects.
type workflow struct {
	dir       string   // the directory of its files
	graph     string   // its graph for make, in testdata/workflows; "": it has the name of the directory
	prd       string   //
	makes     []string // directories that hold only files which it makes
	changes   []string // files to which a test adds a line, so that their dependents run again
	published string   // a file that may only be written after an approval
	edited    string   // an artifact that the test edits
	once      string   // a workstream that must never run again
}

func (w workflow) name() string { return cmp.Or(w.graph, filepath.Base(w.dir)) }

func workflows() []workflow {
	return []workflow{
		{dir: "../../examples/monorepo", prd: "PRD-004", makes: []string{"dist"}, changes: []string{"packages/csv/csv.sh", "packages/lists/lists.sh", "packages/cli/cli.sh", "tools/bundle.sh"}, edited: "dist/chars.sh"},
		{dir: "../../examples/scatter", prd: "PRD-005", makes: []string{"out"}, changes: []string{"texts/ferry.txt", "texts/tower.txt"}, edited: "out/counts/brook.txt"},
		{dir: "../../examples/migration", prd: "PRD-006", makes: []string{"build", "backup"}, changes: []string{"migrations/0002_order_totals.sql"}, edited: "build/schema.sql", once: "apply"},
		{dir: "../../examples/workflows/cobra", prd: "PRD-101", makes: []string{"out"}, changes: []string{"program_windows.go", "command.go", "test.sh", "header.txt"}, edited: "out/linux-1.24.txt"},
		{dir: "../../examples/workflows/zustand", prd: "PRD-102", makes: []string{"dist", "out"}, changes: []string{"src/vanilla.sh", "src/middleware.sh", "hosts/18.3.sh", "spec.sh"}, edited: "dist/cjs/vanilla.sh"},
		{dir: "../../examples/workflows/zustand", graph: "zustand-release", prd: "PRD-103", makes: []string{"dist", "package", "registry"}, changes: []string{"src/shallow.sh", "build.awk"}, published: "registry/1.4.0/files.txt", edited: "package/files.txt", once: "publish"},
		{dir: "../../examples/workflows/snakemake", prd: "PRD-104", makes: []string{"mapped_reads", "sorted_reads", "calls", "plots"}, changes: []string{"data/samples/B.fastq", "scripts/plot.awk", "data/genome.fa", "scripts/index.awk"}, edited: "mapped_reads/A.sam"},
		{dir: "../../examples/workflows/nextflow", prd: "PRD-105", makes: []string{"out", "results"}, changes: []string{"reads/gut_1.fastq", "describe.awk", "clean.awk", "assemble.awk"}, edited: "out/pooled/gut.fa"},
		{dir: "../../examples/workflows/dagu", prd: "PRD-106", makes: []string{"out"}, changes: []string{"data/orders.csv", "data/rates.csv", "table.hcl", "data/ledger.csv"}, edited: "out/orders/table.csv"},
		{dir: "../../examples/workflows/argo", prd: "PRD-107", makes: []string{"out"}, changes: []string{"points/server01.csv", "store/store.go", "coverage.hcl", "line/line_test.go"}, edited: "out/coverage/line.txt"},
		{dir: "../../examples/workflows/deployment", prd: "PRD-108", makes: []string{"out", "production"}, changes: []string{"migrations/0002_currency.awk", "cmd/shop/main.go", "orders/orders_test.go"}, published: "production/primary/shop", edited: "out/shop.sig"},
		{dir: "../../examples/workflows/jest", prd: "PRD-109", makes: []string{"dist"}, changes: []string{"packages/jest-runtime/package.json", "packages/jest-diff/package.json", "packages/babel-jest/package.json", "tools/table.sh"}, edited: "dist/jest-types/installs.txt"},
	}
}

// TestWorkflows kills each workflow at some moment, edits an artifact and resumes. It
// must make the same files as an undisturbed run, keep the bytes of the edit, and publish
// nothing before the approval. Then the test changes a file and resumes again: the same
// steps must run as with make on the same graph.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the test takes half a minute; left out with -short")
	}
	if _, err := exec.LookPath("make"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the test compares with make, which is not installed: ", err)
	}
	binary := buildBinary(t)
	for _, w := range workflows() {
		t.Run(w.name(), func(t *testing.T) {
			t.Parallel()
			reference := newWorkflowRun(t, w, binary)
			shown := reference.complete()
			undisturbed := reference.madeFiles()
			rebuilt := map[string][]string{}
			for i, line := range killedAtLines(shown) {
				r := newWorkflowRun(t, w, binary)
				change := w.changes[i%len(w.changes)]
				if rebuilt[change] == nil {
					rebuilt[change] = w.rebuiltByMake(t, change)
				}
				r.killAt(line)
				edit := r.edit()
				r.complete()
				r.keeps(edit)
				if diff := diffMade(r.madeFiles(), undisturbed); diff != "" {
					t.Fatalf("killed at line %d of %d, the workflow made other files: %s", line, shown, diff)
				}
				r.append(change)
				r.complete()
				if got := r.started(); !slices.Equal(got, rebuilt[change]) {
					t.Fatalf("after a change of %s these ran: %q\nmake runs: %q", change, got, rebuilt[change])
				}
			}
		})
	}
}

// killedAtLines yields the lines of output at which to kill a workflow, each after a
// number that selects the file to change. It yields -workflow.kills lines, spread over
// all the shown lines, or one line that follows from the commit.
func killedAtLines(shown int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		if *workflowKills == 0 {
			s := int(seed.OfCommit() % (1 << 24))
			yield(s, 1+s%shown)
			return
		}
		for i := range *workflowKills {
			if !yield(i, 1 + i*shown / *workflowKills) {
				return
			}
		}
	}
}

// rebuiltByMake returns the workstreams that make runs again after a change of a file,
// without w.once.
func (w workflow) rebuiltByMake(t *testing.T, change string) []string {
	t.Helper()
	dir := copyTree(t, w.dir, w.makes...)
	makefile, err := filepath.Abs(filepath.Join("testdata", "workflows", w.name()+".mk"))
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	run := func() {
		t.Helper()
		cmd := exec.Command("make", "-f", makefile, "RAN="+ran)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make: %v\n%s", err, out)
		}
	}
	run()
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	// Make compares modification times. All files get a time one hour ago, so that files
	// from now on are newer even if the clock of the file system is coarse.
	then := time.Now().Add(-time.Hour)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(change)), now, now); err != nil {
		t.Fatal(err)
	}
	run()
	data, err := os.ReadFile(ran)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.DeleteFunc(strings.Fields(string(data)), func(name string) bool { return name == w.once })
	slices.Sort(names)
	return slices.Compact(names)
}

// workflowRun is a workspace in which a workflow runs.
type workflowRun struct {
	workflow

	t           *testing.T
	binary, dir string
}

func newWorkflowRun(t *testing.T, w workflow, binary string) *workflowRun {
	t.Helper()
	return &workflowRun{workflow: w, t: t, binary: binary, dir: copyTree(t, w.dir, w.makes...)}
}

func (r *workflowRun) command(args ...string) *exec.Cmd {
	cmd := exec.Command(r.binary, args...)
	cmd.Dir = r.dir
	return cmd
}

// build starts or resumes the session. It returns the exit code, 0 or 3, and the number
// of lines of output.
func (r *workflowRun) build() (code, lines int) {
	r.t.Helper()
	cmd := r.command("--output", "json", "build", r.prd, "--resume=auto", "--on-conflict", "restore")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		r.t.Fatalf("the build exits %d\n%s%s", code, out, stderr.Bytes())
	}
	return code, bytes.Count(out, []byte("\n"))
}

// complete resumes the session until it is complete, and approves every gate that asks.
// It returns the number of lines of output.
func (r *workflowRun) complete() (lines int) {
	r.t.Helper()
	before := r.read(r.published)
	for range 5 {
		code, n := r.build()
		lines += n
		if code == 0 {
			return lines
		}
		if got := r.read(r.published); got != before {
			r.t.Fatalf("%s was published before it was approved", r.published)
		}
		if out, err := r.command("approve", r.prd).CombinedOutput(); err != nil {
			r.t.Fatalf("approve: %v\n%s", err, out)
		}
	}
	r.t.Fatal("the session is still paused after 5 builds")
	return 0
}

// killAt starts a build, and kills it when it has printed this many lines.
func (r *workflowRun) killAt(line int) {
	r.t.Helper()
	cmd := r.command("--output", "json", "build", r.prd, "--resume=auto")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for n := 0; lines.Scan(); {
		if n++; n == line {
			_ = cmd.Process.Kill() // the build may have ended
		}
	}
	_ = cmd.Wait() // killed, paused or complete
}

// edit changes an artifact and returns its new content, or "" if the artifact is not on
// record yet.
func (r *workflowRun) edit() string {
	r.t.Helper()
	content := r.read(r.edited)
	journal := r.read(filepath.ToSlash(filepath.Join(".runner", r.prd, "journal.jsonl")))
	if content == "" || !strings.Contains(journal, `"path":"`+r.edited+`"`) {
		return ""
	}
	r.append(r.edited)
	return r.read(r.edited)
}

// keeps checks that an object holds the bytes of an edit.
func (r *workflowRun) keeps(edit string) {
	r.t.Helper()
	if edit == "" {
		return
	}
	sum := sha256.Sum256([]byte(edit))
	name := hex.EncodeToString(sum[:])
	if r.read(".runner/objects/"+name[:2]+"/"+name[2:]) != edit {
		r.t.Errorf("the edit of %s is lost", r.edited)
	}
}

// append adds a line to a file: a comment, a record, or white space, where the format of the
// file asks for that.
func (r *workflowRun) append(name string) {
	r.t.Helper()
	line := "changed\n"
	switch filepath.Ext(name) {
	case ".go":
		line = "\n// changed\n"
	case ".awk", ".csv", ".hcl", ".sh", ".yaml":
		line = "# changed\n"
	case ".fa":
		line = ";changed\n"
	case ".fastq":
		line = "@changed\nACGTACGTACGTACGT\n+\nFFFFFFFFFFFFFFFF\n"
	case ".json":
		line = "\n"
	case ".sql":
		line = "-- changed\n"
	}
	if err := os.WriteFile(filepath.Join(r.dir, filepath.FromSlash(name)), []byte(r.read(name)+line), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// read returns the content of a file, or "" if the file does not exist.
func (r *workflowRun) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && name != "" {
		r.t.Fatal(err)
	}
	return string(data)
}

// started returns the workstreams that the current session has started.
func (r *workflowRun) started() (names []string) {
	r.t.Helper()
	for _, c := range readJournal(r.t, filepath.Join(r.dir, ".runner", r.prd, "journal.jsonl")) {
		for _, e := range c.Events {
			if e.Kind == "workstream.started" {
				names = append(names, e.Workstream)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// madeFiles returns the files that the workflow has made, without databases: the bytes of a
// database depend on its history.
func (r *workflowRun) madeFiles() map[string]string {
	r.t.Helper()
	made := map[string]string{}
	for _, dir := range r.makes {
		err := filepath.WalkDir(filepath.Join(r.dir, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".db" {
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(r.dir, path) // no error: path is below r.dir
			made[filepath.ToSlash(rel)] = string(data)
			return err
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return made
}

// diffMade describes the differences, or returns "" if there are none.
func diffMade(got, want map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			all = append(all, fmt.Sprintf("%s is %.60q, want %.60q", name, got[name], want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			all = append(all, name+" should not be there")
		}
	}
	return strings.Join(all, "; ")
}
