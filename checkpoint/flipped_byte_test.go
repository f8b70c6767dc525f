package checkpoint_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
)

// TestValidateNamesTheFileWithAFlippedByte flips each byte of each file that a
// session consists of, one after the other (every 11th by default): validating
// finds it, names the file, and nothing is wrong any more once it is put back.
// Where the journal or a checkpoint is flipped, everything that needs it refuses.
func TestValidateNamesTheFileWithAFlippedByte(t *testing.T) {
	t.Parallel()
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Compress(compress)
			p.Begin("S1")
			// Each time as a process of its own would: a workspace remembers the
			// listing that it read last.
			wrong := func() string {
				s := p.Open()
				w, err := s.OpenWorkspace(p.Root, nil, workspace.GitOff)
				checkpointtest.Must(t, err)
				v, err := validate.Run(context.Background(), s, w, validate.Options{PRD: "PRD-009", Deep: true})
				checkpointtest.Must(t, w.Close())
				if err != nil {
					return err.Error() // another version, as far as can be told
				}
				return said(v)
			}
			if got := wrong(); got != "" {
				t.Fatal(got)
			}
			files := 0
			for file, names := range partsOf(p) {
				files++
				whole := p.Read(file)
				step := 11
				if *faults.CrashDepth > 0 {
					step = 1
				}
				for i := 0; i < len(whole); i += step {
					bad := bytes.Clone(whole)
					bad[i] ^= 0x20 // changes the case of a letter
					if decompressed := unzstd(whole); decompressed != nil && bytes.Equal(decompressed, unzstd(bad)) {
						continue // a bit that pads, and means nothing
					}
					overwriteFile(p, file, bad)
					if got := wrong(); !strings.Contains(got, names) {
						t.Fatalf("byte %d of %s flipped: %q does not name %s", i, file, got, names)
					}
				}
				overwriteFile(p, file, whole)
			}
			if got := wrong(); got != "" || files < 8 {
				t.Fatalf("put back, of %d files: %s", files, got)
			}
		})
	}
}

// unzstd decompresses, nil if it is not that.
func unzstd(data []byte) []byte {
	d, err := zstd.NewReader(nil)
	if err != nil {
		return nil
	}
	defer d.Close()
	whole, err := d.DecodeAll(data, nil)
	if err != nil {
		return nil
	}
	return whole
}

// said is all that validating says is wrong.
func said(v *validate.Validation) string {
	var all []string
	for _, s := range v.Sessions {
		if s.Journal != nil {
			all = append(all, s.Journal.Error())
		}
		for _, d := range s.Derived {
			all = append(all, d.Error())
		}
		for _, c := range s.Checkpoints {
			for _, problem := range c.Problems {
				all = append(all, c.Ref.ID+": "+problem)
			}
		}
	}
	if (len(all) > 0) != v.Damaged() {
		all = append(all, "and it is said to be whole")
	}
	return strings.Join(all, "\n")
}

// overwrite changes the bytes of a file where it lies.
func overwriteFile(p *checkpointtest.Project, name string, data []byte) {
	p.T.Helper()
	checkpointtest.Must(p.T, store.WriteFile(p.FS, filepath.Join(p.Dir, name), data))
}

// parts are the files that a session consists of, and how each is named where it
// is damaged.
func partsOf(p *checkpointtest.Project) map[string]string {
	p.T.Helper()
	parts := map[string]string{
		"PRD-009.json":          p.Open().Layout().DocumentPath("PRD-009"),
		"PRD-009/manifest.json": p.Open().Layout().ManifestPath("PRD-009"),
		"PRD-009/journal.jsonl": p.Open().Layout().JournalPath("PRD-009"),
	}
	s := p.Open()
	for _, ref := range p.State().Checkpoints {
		parts[p.CheckpointFile(ref.ID)] = ref.ID
		file, err := s.ReadCheckpoint("PRD-009", ref.ID)
		checkpointtest.Must(p.T, err)
		for digest := range checkpointtest.DigestsOf(p.T, s, file.State) {
			path, _, err := s.Objects().Path(digest)
			checkpointtest.Must(p.T, err)
			rel, err := filepath.Rel(p.Dir, path)
			checkpointtest.Must(p.T, err)
			parts[filepath.ToSlash(rel)] = path
		}
	}
	return parts
}
