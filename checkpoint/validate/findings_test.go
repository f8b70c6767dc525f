package validate_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// TestFindings damages one thing at a time in a session with two checkpoints, and
// compares what a validation finds.
func TestFindings(t *testing.T) {
	t.Parallel()
	type want struct {
		invalid  int // checkpoints with problems
		damaged  bool
		journal  bool // the journal is damaged
		derived  int  // damaged documents and manifests
		mendable int
		reason   string // part of the problems of the newest checkpoint
		last     int    // index of the checkpoint that a rollback can go to; -1: none
	}
	listing := func(p *checkpointtest.Project) string {
		path, _, err := p.Open().Objects().Path(p.State().Checkpoints[1].Capture.Listing)
		checkpointtest.Must(p.T, err)
		return path
	}
	newest := func(p *checkpointtest.Project) string { return p.CheckpointFile(p.State().Checkpoints[1].ID) }
	for name, tt := range map[string]struct {
		damage func(p *checkpointtest.Project, object string)
		deep   bool
		want   want
	}{
		"nothing": {func(*checkpointtest.Project, string) {}, true, want{last: 1}},
		"a byte of the newest checkpoint's file": {
			func(p *checkpointtest.Project, _ string) { checkpointtest.FlipByte(p.Fixture, newest(p), 100) }, false,
			want{invalid: 1, damaged: true, mendable: 1, last: 0},
		},
		"the newest checkpoint's file is missing": {
			func(p *checkpointtest.Project, _ string) { checkpointtest.Must(p.T, p.FS.Remove(p.Dir+"/"+newest(p))) }, false,
			want{mendable: 1, last: 1},
		},
		"a byte of the document": {
			func(p *checkpointtest.Project, _ string) { checkpointtest.FlipByte(p.Fixture, "PRD-009.json", 100) }, false,
			want{damaged: true, derived: 1, last: 1},
		},
		"a byte of the manifest": {
			func(p *checkpointtest.Project, _ string) {
				checkpointtest.FlipByte(p.Fixture, "PRD-009/"+disk.ManifestName, 100)
			}, false,
			want{damaged: true, derived: 1, last: 1},
		},
		"the document and the manifest are missing": {
			func(p *checkpointtest.Project, _ string) {
				checkpointtest.Must(p.T, p.FS.Remove(p.Dir+"/PRD-009.json"))
				checkpointtest.Must(p.T, p.FS.Remove(p.Dir+"/PRD-009/"+disk.ManifestName))
			}, false, want{last: 1},
		},
		"an object is missing": {
			func(p *checkpointtest.Project, object string) { checkpointtest.Must(p.T, p.FS.Remove(object)) }, false,
			want{invalid: 1, damaged: true, mendable: 1, last: 0},
		},
		"a byte of an object, read": {
			func(p *checkpointtest.Project, object string) { checkpointtest.DamageFile(p, object, "flipped") }, true,
			want{invalid: 1, damaged: true, mendable: 1, last: 0},
		},
		"a byte of an object, not read": {
			func(p *checkpointtest.Project, object string) { checkpointtest.DamageFile(p, object, "flipped") }, false, want{last: 1},
		},
		"the first line of the journal": {
			func(p *checkpointtest.Project, _ string) {
				checkpointtest.FlipByte(p.Fixture, "PRD-009/"+disk.JournalName, 100)
			}, false,
			want{damaged: true, journal: true, last: 1},
		},
		"the journal, and an object is missing": {
			func(p *checkpointtest.Project, object string) {
				checkpointtest.Must(p.T, p.FS.Remove(object))
				checkpointtest.FlipByte(p.Fixture, "PRD-009/"+disk.JournalName, 100)
			}, false,
			want{invalid: 1, damaged: true, journal: true, mendable: 1, last: 0},
		},
		"the newest checkpoint's file, and a byte of an object of both, not read": {
			func(p *checkpointtest.Project, _ string) {
				checkpointtest.FlipByte(p.Fixture, newest(p), 100)
				both, _, err := p.Open().Objects().Path(checkpointtest.DigestText("pipeline"))
				checkpointtest.Must(p.T, err)
				checkpointtest.DamageFile(p, both, "flipped")
			}, false,
			want{invalid: 1, damaged: true, mendable: 1, last: -1},
		},
		"the newest list of files is missing": {
			func(p *checkpointtest.Project, _ string) { checkpointtest.DamageFile(p, listing(p), "deleted") }, false,
			want{invalid: 1, damaged: true, mendable: 1, last: 0, reason: "the list of its files is lost"},
		},
		"a byte of the newest list of files": {
			func(p *checkpointtest.Project, _ string) { checkpointtest.DamageFile(p, listing(p), "flipped") }, false,
			want{invalid: 1, damaged: true, mendable: 1, last: 0, reason: "the list of its files cannot be read"},
		},
		"all objects are missing": {
			func(p *checkpointtest.Project, _ string) {
				for _, content := range []string{"a", "one", "pipeline"} {
					path, _, err := p.Open().Objects().Path(checkpointtest.DigestText(content))
					checkpointtest.Must(p.T, err)
					checkpointtest.DamageFile(p, path, "deleted")
				}
			}, false,
			want{invalid: 2, damaged: true, mendable: 2, last: -1, reason: "and 2 more files"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, object := begun(t)
			ids := checkpointIDs(p)
			tt.damage(p, object)
			v := validated(t, p, tt.deep)
			c := &v.Sessions[0]
			valid, invalid := v.Count()
			got := want{invalid: invalid, damaged: v.Damaged(), journal: c.Journal != nil, derived: len(c.Derived), last: -1}
			for i := range c.Checkpoints {
				if c.Checkpoints[i].Mendable() {
					got.mendable++
				}
			}
			if strings.Contains(c.Checkpoints[1].Reason(), tt.want.reason) {
				got.reason = tt.want.reason
			}
			if last := c.LastValid(); last != nil {
				got.last = slices.Index(ids, last.ID)
			}
			if tt.want.invalid == 1 && strings.Contains(c.Checkpoints[1].Reason(), "more files") {
				t.Errorf("one file is lost: %s", c.Checkpoints[1].Reason())
			}
			if got != tt.want || valid+invalid != 2 || v.Unread() != nil {
				t.Errorf("found %+v of %d, want %+v; unread: %v\n%+v", got, valid+invalid, tt.want, v.Unread(), c.Checkpoints)
			}
		})
	}
}

// TestMark: Mark must mark a damaged checkpoint once. Only after a validation has read
// every byte of the checkpoint and found no problem may Mark remove the mark.
func TestMark(t *testing.T) {
	t.Parallel()
	p, _ := begun(t)
	ids := checkpointIDs(p)
	file := p.CheckpointFile(ids[1])
	whole := p.Read(file)
	checkpointtest.FlipByte(p.Fixture, file, 100)
	for _, step := range []struct {
		when             string
		marked, unmarked []string
	}{
		{"damaged", ids[1:], nil},
		{"still damaged", nil, nil},
		{"whole again", nil, ids[1:]},
		{"still whole", nil, nil},
	} {
		if step.unmarked != nil {
			p.Write(file, whole)
		}
		v := validated(t, p, true)
		x := p.Lock()
		m, err := validate.Mark(context.Background(), x, v)
		checkpointtest.Must(t, err)
		if !slices.Equal(m.Marked, step.marked) || !slices.Equal(m.Unmarked, step.unmarked) {
			t.Errorf("%s: %+v", step.when, m)
		}
		checkpointtest.Must(t, x.Close())
	}
}

// TestFirstWhole damages the newest of two checkpoints. FirstWhole must return the other
// one, and Inspect must tell which of them is intact.
func TestFirstWhole(t *testing.T) {
	t.Parallel()
	p, _ := begun(t)
	st := p.State()
	checkpointtest.FlipByte(p.Fixture, p.CheckpointFile(st.Checkpoints[1].ID), 100)
	s := p.Open()
	w := p.Workspace(s)
	at := reader.StoredSession{PRD: "PRD-009", Place: disk.PlaceCurrent, Dir: s.Layout().PRDDir("PRD-009"), State: st}
	newestFirst := func(yield func(*state.CheckpointRef) bool) {
		for _, ref := range slices.Backward(st.Checkpoints) {
			if !yield(ref) {
				return
			}
		}
	}
	first, err := validate.FirstWhole(context.Background(), s, w, at, newestFirst)
	checkpointtest.Must(t, err)
	if first != st.Checkpoints[0] {
		t.Errorf("the first whole checkpoint is %+v", first)
	}
	for i, intact := range []bool{true, false} {
		found, err := validate.Inspect(context.Background(), s, w, st, st.Checkpoints[i])
		checkpointtest.Must(t, err)
		if found.Intact() != intact || found.File == nil {
			t.Errorf("checkpoint %d: intact %t, %v", i, found.Intact(), found.Unread)
		}
	}
}

// TestWithoutCapture: a checkpoint of a session that captured no files is whole.
func TestWithoutCapture(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	x := p.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "session-1", 2)))
	checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	for _, c := range validated(t, p, false).Sessions[0].Checkpoints {
		if !c.Whole() || c.Git != validate.FoundNone || c.File != validate.FoundOK {
			t.Errorf("found %+v", c)
		}
	}
}

// begun returns a project with two checkpoints, and the object that only the second one
// needs.
func begun(t *testing.T) (p *checkpointtest.Project, object string) {
	t.Helper()
	p = checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	object, _, err := s.Objects().Path(checkpointtest.DigestText("a"))
	checkpointtest.Must(t, err)
	return p, object
}

func checkpointIDs(p *checkpointtest.Project) []string {
	var ids []string
	for _, ref := range p.State().Checkpoints {
		ids = append(ids, ref.ID)
	}
	return ids
}

func validated(t *testing.T, p *checkpointtest.Project, deep bool) *validate.Validation {
	t.Helper()
	s := p.Open()
	v, err := validate.Run(context.Background(), s, p.Workspace(s), validate.Options{PRD: "PRD-009", Deep: deep})
	checkpointtest.Must(t, err)
	return v
}
