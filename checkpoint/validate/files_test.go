package validate_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
)

// TestDocument replaces the PRD document by others, some of them with a valid checksum or
// harmless changes, and checks what a validation finds.
func TestDocument(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	checkpointtest.Stopped(f)
	whole := f.Read("PRD-009.json")
	d, err := document.Decode(whole)
	checkpointtest.Must(t, err)
	encoded := func(change func(d *document.File)) []byte {
		r := *d.Runner
		changed := d
		changed.Runner = &r
		change(&changed)
		data, err := changed.Encode()
		checkpointtest.Must(t, err)
		return data
	}
	older := encoded(func(d *document.File) { d.Runner.FormatVersion = "1.0" })
	for name, tt := range map[string]struct {
		document []byte
		damage   string // part of what is found; "": nothing
	}{
		"as it was":                       {whole, ""},
		"written by hand":                 {encoded(func(d *document.File) { d.Runner = nil }), ""},
		"written by hand, with a mistake": {[]byte(`{"prd": 9}`), "prd"},
		"without its own part, with a checksum elsewhere": {[]byte(`{"prd": "PRD-009", "checksum": "x"}`), "its checksum is wrong"},
		"with other content":                              {[]byte(strings.Replace(string(whole), "Cashier", "Cashiers", 1)), "its checksum is wrong"},
		"with other spaces":                               {append([]byte(" "), whole...), "it says the same in other bytes"},
		"of an older version, with other spaces":          {append([]byte(" "), older...), ""},
	} {
		f.Write("PRD-009.json", tt.document)
		found := checkpointtest.Validated(f, validate.Options{}).Sessions[0].Derived
		if len(found) == 0 && tt.damage == "" {
			continue
		}
		if len(found) != 1 || tt.damage == "" || !strings.Contains(found[0].Detail, tt.damage) {
			t.Errorf("%s: found %v, want %q", name, found, tt.damage)
		}
	}
}

// TestOtherFiles replaces a checkpoint file by other files, some of them with a valid
// checksum, and checks what a validation finds.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	f.Compress(false)
	ids := checkpointtest.Stopped(f)
	file := f.CheckpointFile(ids[1])
	whole := f.Read(file)
	unsealed, _, _ := strings.Cut(string(whole), `,"checksum"`)
	changed := func(old, changed string) []byte {
		return state.Seal([]byte(strings.Replace(unsealed, old, changed, 1) + "}"))
	}
	for name, tt := range map[string]struct {
		file    []byte
		hash    validate.Finding
		schema  validate.Finding
		problem string
		unread  bool
		journal bool // the journal replaces it
	}{
		"as it was":            {whole, validate.FoundOK, validate.FoundOK, "", false, false},
		"missing":              {nil, validate.FoundNone, validate.FoundOK, "", false, true},
		"of another one":       {f.Read(f.CheckpointFile(ids[0])), validate.FoundOK, validate.FoundBad, "another checkpoint", false, true},
		"of another commit":    {changed(`"seq":`, `"seq":1`), validate.FoundOK, validate.FoundBad, "another checkpoint", false, true},
		"of another session":   {changed(`"session":"S1"`, `"session":"S9"`), validate.FoundOK, validate.FoundBad, "it is of session S9", false, true},
		"of a newer version":   {changed(`"format_version":"`+state.FormatVersion, `"format_version":"99.0`), validate.FoundUnknown, validate.FoundBad, "99.0", true, true},
		"without a checksum":   {[]byte(unsealed + "}"), validate.FoundBad, validate.FoundUnknown, "the checksum of its file is wrong", false, true},
		"with a wrong content": {[]byte(strings.Replace(string(whole), "S1", "S2", 1)), validate.FoundBad, validate.FoundUnknown, "checksum", false, true},
	} {
		if f.Write(file, tt.file); tt.file == nil {
			checkpointtest.Must(t, f.FS.Remove(f.Dir+"/"+file))
		}
		v := checkpointtest.Validated(f, validate.Options{Refs: ids[1:2]})
		c := v.Sessions[0].Checkpoints[0]
		if c.Hash != tt.hash || c.Schema != tt.schema || c.Journal != tt.journal || (c.Unread != nil) != tt.unread ||
			c.Whole() != (tt.problem == "") || len(c.Notes) > 0 != (tt.file == nil) || !strings.Contains(c.Reason(), tt.problem) || (v.Unread() != nil) != tt.unread {
			t.Errorf("%s: %+v", name, c)
		}
	}
	f.Write(file, whole)
}
