package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// future is a workspace in which one file has a format version that does not exist yet,
// and correct checksums.
type future struct {
	t        *testing.T
	dir, prd string
	names    string // the end of the path that the error must name
	id       string // of the checkpoint that the file belongs to, if any
	binary   bool   // commands run in the real binary, not in the process of the test
}

// futureFile is a kind of file with a format version, and the commands that must refuse
// it.
type futureFile struct {
	write    func(*future) // gives the file a future version
	commands []string      // PRD stands for the id of the PRD, ID for that of the checkpoint
}

// changing has the commands that change a session. build --fresh and abandon are left
// out, because they only set the session aside.
var changing = []string{
	"checkpoint create PRD", "checkpoint archive PRD",
	"checkpoint rollback PRD 0 --yes", "checkpoint rebuild PRD", "checkpoint validate PRD --mark",
}

// futureFiles returns all kinds of files that have a format version, except caches:
// Runner makes a cache of another version anew.
func futureFiles() map[string]futureFile {
	all := append([]string{
		"status PRD", "build PRD --resume", "plan PRD --resume", "checkpoint list PRD", "checkpoint prune PRD --yes", "checkpoint migrate PRD", "checkpoint export PRD -o -",
	}, changing...)
	one := append([]string{
		"checkpoint show PRD ID", "checkpoint diff PRD ID latest", "checkpoint validate PRD", "checkpoint rebuild PRD ID --dry-run", "checkpoint export PRD -o -",
		"checkpoint migrate PRD", "checkpoint pin PRD ID",
	}, changing...)
	return map[string]futureFile{
		"journal":               {func(f *future) { f.edit("PRD/journal.jsonl", chained) }, append(all, "checkpoint rebuild PRD --journal --yes")},
		"document":              {func(f *future) { f.edit("PRD.json", nil) }, all},
		"manifest":              {func(f *future) { f.edit("PRD/manifest.json", resealed) }, all},
		"checkpoint":            {func(f *future) { f.checkpoint(false) }, one},
		"compressed checkpoint": {func(f *future) { f.checkpoint(true) }, one},
		"checkpoint beside a damaged journal": {func(f *future) {
			f.checkpoint(false)
			f.damageJournal()
		}, []string{"checkpoint rebuild PRD --journal --yes", "checkpoint rebuild PRD --journal --dry-run"}},
		"manifest beside a damaged journal": {func(f *future) {
			f.edit("PRD/manifest.json", resealed)
			f.damageJournal()
		}, []string{"checkpoint rebuild PRD --journal --yes", "checkpoint rebuild PRD --journal --dry-run"}},
		"listing of files": {(*future).listing, []string{
			"checkpoint rollback PRD ID --yes", "checkpoint validate PRD", "checkpoint rebuild PRD", "checkpoint rebuild PRD --dry-run",
			"checkpoint validate PRD --mark", "checkpoint export PRD -o -", "checkpoint show PRD ID",
		}},
		"where a session comes from": {func(f *future) {
			f.put("PRD/origin.json", `{"format_version":"9.0","session":["not as it is today"]}`)
		}, changing},
		"unfinished import": {func(f *future) {
			f.put("PRD/importing.json", `{"format_version":"9.0","seq":"not as it is today"}`)
		}, append([]string{"status PRD", "build PRD --resume"}, changing...)},
		"archive": {func(f *future) {
			f.export(func(tar []byte) []byte { return newerVersion.ReplaceAll(tar, []byte(`${1}"9.0"`)) })
		}, []string{"checkpoint import archive.tar.gz", "checkpoint import archive.tar.gz --dry-run"}},
		"plan": {func(f *future) {
			f.names = "plan.json"
			f.save(filepath.Join(f.dir, "plan.json"), []byte(`{"format_version":"9.0","prd":"`+f.prd+`","steps":"not as they are today"}`))
		}, []string{"build PRD --plan plan.json"}},
	}
}

// newerVersion matches the format version in a file, which the tests change to 9.0.
var newerVersion = regexp.MustCompile(`("format_version": ?)"1\.[0-9]+"`)

// TestWhatAFutureVersionWroteIsRefusedUntouched gives one kind of file after the other a
// format version that does not exist yet. Every command that reads or would overwrite the
// file must exit 5, name the file, the version and the remedy, and change nothing. The
// failed sessions are tested with the real binary, the others in the process of the test.
func TestWhatAFutureVersionWroteIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	kinds := futureFiles()
	eachFormat(t, func(t *testing.T, dir, prd, ended string) {
		pipeline := `pipeline "` + prd + `" {
  phase "all" {
    workstream "other" { command = ["true"] }
  }
}
`
		if err := os.WriteFile(filepath.Join(dir, prd+".hcl"), []byte(pipeline), 0o600); err != nil {
			t.Fatal(err)
		}
		whole := filesIn(t, dir)
		for kind, file := range kinds {
			t.Run(kind, func(t *testing.T) {
				f := &future{t: t, dir: dir, prd: prd, binary: ended == "failed"}
				file.write(f)
				if f.names == "" {
					return // this state has no such file
				}
				before := filesIn(t, dir)
				for _, line := range file.commands {
					if ended == "complete" && line == "build PRD --resume" {
						continue // a complete session has nothing to resume
					}
					f.refused(strings.NewReplacer("PRD", prd, "ID", f.id).Replace(line))
					f.untouched(line, before)
				}
				f.restore(whole)
			})
		}
	})
}

// refused runs a command, which must exit 5 and name the version, the remedy and the
// file.
func (f *future) refused(line string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "runner", strings.Fields(line)...)
	cmd.Dir = f.dir
	out, code := f.outcome(cmd)
	if code != exitDamaged {
		f.t.Errorf("runner %s: exit code %d\n%s", line, code, out)
	}
	for _, want := range []string{"9.0", "upgrade runner", f.names} {
		if !strings.Contains(out, want) {
			f.t.Errorf("runner %s does not say %q\n%s", line, want, out)
		}
	}
}

// outcome runs a command, and returns what it printed and its exit code.
func (f *future) outcome(cmd *exec.Cmd) (out string, code int) {
	f.t.Helper()
	if !f.binary {
		return inProcess(f.t.Context(), cmd)
	}
	printed, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		f.t.Fatal(err)
	}
	return string(printed), cmd.ProcessState.ExitCode()
}

// untouched checks that the command in line changed no file, and added none but
// .gitignore.
func (f *future) untouched(line string, before map[string][]byte) {
	f.t.Helper()
	after := filesIn(f.t, f.dir)
	for path, data := range before {
		if string(after[path]) != string(data) {
			f.t.Errorf("runner %s changed %s", line, path)
		}
	}
	for path := range after {
		if _, had := before[path]; !had && filepath.Base(path) != ".gitignore" {
			f.t.Errorf("runner %s made %s", line, path)
		}
	}
}

// restore restores the files of the workspace, whose content by path is whole.
func (f *future) restore(whole map[string][]byte) {
	f.t.Helper()
	for path := range filesIn(f.t, f.dir) {
		if _, had := whole[path]; !had {
			if err := os.Remove(path); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	for path, data := range whole {
		f.save(path, data)
	}
}

func (f *future) save(path string, data []byte) {
	f.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// path returns the path of a file in the state directory. From then on, errors must name
// that file.
func (f *future) path(name string) string {
	f.names = strings.ReplaceAll(name, "PRD", f.prd)
	return filepath.Join(f.dir, ".runner", f.names)
}

func (f *future) put(name, text string) { f.save(f.path(name), []byte(text)) }

func (f *future) read(path string) []byte {
	f.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return data
}

// edit changes the version in a file. The function sums, if not nil, corrects the
// checksums.
func (f *future) edit(name string, sums func([]byte) []byte) {
	f.t.Helper()
	path := f.path(name)
	was := f.read(path)
	data := newerVersion.ReplaceAll(was, []byte(`${1}"9.0"`))
	if sums != nil {
		data = sums(data)
	}
	if bytes.Equal(was, data) {
		f.t.Fatalf("%s names no version", path)
	}
	f.save(path, data)
}

// damageJournal flips a bit in the middle of the journal, in a line that was
// acknowledged.
func (f *future) damageJournal() {
	path := filepath.Join(f.dir, ".runner", f.prd, "journal.jsonl")
	data := f.read(path)
	data[len(data)/2] ^= 1
	f.save(path, data)
}

// checkpoint changes the version in the file of the oldest checkpoint, and in no other
// file. It also compresses that file if compressed is set.
func (f *future) checkpoint(compressed bool) {
	f.t.Helper()
	var index struct {
		Checkpoints []struct {
			ID string `json:"id"`
		} `json:"checkpoints"`
	}
	if err := json.Unmarshal(f.read(filepath.Join(f.dir, ".runner", f.prd, "manifest.json")), &index); err != nil || len(index.Checkpoints) == 0 {
		f.t.Fatalf("no checkpoints: %v", err)
	}
	f.id = index.Checkpoints[0].ID
	f.edit("PRD/checkpoints/"+f.id+".json", resealed)
	if !compressed {
		return
	}
	plain := f.path("PRD/checkpoints/" + f.id + ".json")
	e, err := zstd.NewWriter(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	packed := e.EncodeAll(f.read(plain), nil)
	if err := os.Remove(plain); err != nil {
		f.t.Fatal(err)
	}
	f.save(f.path("PRD/checkpoints/"+f.id+".json.zst"), packed)
}

// listing adds a listing of files of a future version, and changes every reference to the
// listing of the oldest checkpoint to that.
func (f *future) listing() {
	f.t.Helper()
	var index struct {
		Checkpoints []struct {
			ID      string `json:"id"`
			Capture *struct {
				Listing string `json:"listing"`
			} `json:"capture"`
		} `json:"checkpoints"`
	}
	if err := json.Unmarshal(f.read(filepath.Join(f.dir, ".runner", f.prd, "manifest.json")), &index); err != nil {
		f.t.Fatal(err)
	}
	first := index.Checkpoints[0]
	if first.Capture == nil {
		return // this version made no captures
	}
	// The first command that locks the session rewrites derived files of an older version.
	// This command does so before the tested commands.
	run(f.t, f.dir, 0, "checkpoint", "rebuild", f.prd)
	text := []byte(`{"format_version":"9.0","not":"as it is today"}` + "\n")
	was, name := strings.TrimPrefix(first.Capture.Listing, "sha256:"), fmt.Sprintf("%x", sha256.Sum256(text))
	for path, data := range filesIn(f.t, filepath.Join(f.dir, ".runner")) {
		changed := bytes.ReplaceAll(data, []byte(was), []byte(name))
		switch {
		case bytes.Equal(changed, data) || strings.Contains(path, "/objects/"):
			continue
		case strings.HasSuffix(path, ".jsonl"):
			changed = chained(changed)
		default:
			changed = resealed(changed)
		}
		f.save(path, changed)
	}
	path := f.path("objects/" + name[:2] + "/" + name[2:])
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	f.save(path, text)
	f.id, f.names = first.ID, name[2:] // an error may name the object by its path or its checksum
}

// export writes an archive of the session, whose tar stream goes through change.
func (f *future) export(change func([]byte) []byte) {
	f.t.Helper()
	f.names = "archive.tar.gz"
	path := filepath.Join(f.dir, f.names)
	run(f.t, f.dir, 0, "checkpoint", "export", f.prd, "-o", path, "--force")
	r, err := gzip.NewReader(bytes.NewReader(f.read(path)))
	if err != nil {
		f.t.Fatal(err)
	}
	tar, err := io.ReadAll(r)
	if err != nil {
		f.t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(change(tar)); err != nil {
		f.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.save(path, packed.Bytes())
}

// resealed returns a sealed file with the checksum of its content.
func resealed(file []byte) []byte {
	const field = `,"checksum":"sha256:`
	at := bytes.LastIndex(file, []byte(field))
	return fmt.Appendf(bytes.Clone(file[:at]), "%s%x\"}\n", field, sha256.Sum256(file[:at]))
}

// chained returns a journal in which each line has the checksum of its content and that
// of the line before.
func chained(journal []byte) []byte {
	var out []byte
	prev := ""
	for line := range bytes.Lines(journal) {
		if prev != "" {
			at := bytes.LastIndex(line, []byte(`"prev":"`)) + len(`"prev":"`)
			copy(line[at:], prev)
		}
		body := line[:bytes.LastIndex(line, []byte(`,"sum":"`))]
		prev = fmt.Sprintf("%x", sha256.Sum256(body))
		out = append(append(out, body...), `,"sum":"`+prev+"\"}\n"...)
	}
	return out
}
