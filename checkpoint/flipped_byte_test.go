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

// TestValidateNamesTheFileWithAFlippedByte flips each byte of each file of a session, one
// at a time (every 11th by default). A deep validation must name the damaged file. With
// all bytes restored, the validation must find nothing.
func TestValidateNamesTheFileWithAFlippedByte(t *testing.T) {
	t.Parallel()
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Compress(compress)
			p.Begin("S1")
			// A new workspace each time, because a workspace remembers the listing
			// that it read last.
			wrong := func() string {
				s := p.Open()
				w, err := s.OpenWorkspace(p.Root, nil, workspace.GitOff)
				checkpointtest.Must(t, err)
				v, err := validate.Run(context.Background(), s, w, validate.Options{PRD: "PRD-009", Deep: true})
				checkpointtest.Must(t, w.Close())
				if err != nil {
					return err.Error() // the flipped byte may have changed a version
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
						continue // a padding bit, which has no meaning
					}
					overwriteFile(p, file, bad)
					if got := wrong(); !strings.Contains(got, names) {
						t.Fatalf("byte %d of %s flipped: %q does not name %s", i, file, got, names)
					}
				}
				overwriteFile(p, file, whole)
			}
			if got := wrong(); got != "" || files < 8 {
				t.Fatalf("all bytes of %d files restored: %s", files, got)
			}
		})
	}
}

// unzstd decompresses zstd data. It returns nil for other data.
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

// said returns all problems that a validation found, one per line.
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
		all = append(all, "but Damaged reports false")
	}
	return strings.Join(all, "\n")
}

// overwriteFile replaces the content of a file in the state directory.
func overwriteFile(p *checkpointtest.Project, name string, data []byte) {
	p.T.Helper()
	checkpointtest.Must(p.T, store.WriteFile(p.FS, filepath.Join(p.Dir, name), data))
}

// partsOf maps each file of a session to the text that names the file in a validation.
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
