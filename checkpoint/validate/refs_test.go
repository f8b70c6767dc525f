package validate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
)

// TestRefs validates the checkpoints that references name, in an archived session of
// three checkpoints and a current one of one checkpoint, with and without damage in the
// journal of the archived session.
func TestRefs(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier())))
	newest := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	archived := checkpointtest.Validated(f, validate.Options{}).Sessions[0]
	journal := strings.TrimPrefix(archived.Dir, f.Dir+"/") + "/" + disk.JournalName
	ambiguous := func(err error) bool { return errors.As(err, new(*state.AmbiguousError)) }
	unknown := func(err error) bool { return errors.Is(err, state.ErrNoCheckpoint) }
	tests := []struct {
		name    string
		options validate.Options
		err     func(error) bool
		found   string // checkpoints of each session
	}{
		{"all", validate.Options{}, nil, "[3 1]"},
		{"an older one", validate.Options{Refs: ids[:1]}, nil, "[1]"},
		{"the beginning of an older one", validate.Options{Refs: []string{ids[1][:len(ids[1])-2]}}, nil, "[1]"},
		{"two", validate.Options{Refs: []string{ids[1], newest}}, nil, "[1 1]"},
		{"none", validate.Options{Refs: []string{"CP-none"}}, unknown, ""},
		{"several", validate.Options{Refs: []string{"CP-phase-"}}, ambiguous, ""},
		{"no PRD", validate.Options{PRD: "PRD-010"}, func(err error) bool { return errors.Is(err, checkpoint.ErrNoSession) }, ""},
	}
	for _, damaged := range []bool{false, true} {
		if damaged {
			checkpointtest.FlipByte(f, journal, 900)
		}
		for _, tt := range tests {
			v, err := validate.Run(context.Background(), f.Open(), nil, tt.options)
			if tt.err != nil {
				if !tt.err(err) {
					t.Errorf("damaged %t, %s: %v", damaged, tt.name, err)
				}
				continue
			}
			checkpointtest.Must(t, err)
			var found []int
			for i := range v.Sessions {
				found = append(found, len(v.Sessions[i].Checkpoints))
			}
			// A damaged journal is reported whichever checkpoints are asked for.
			if got := fmt.Sprint(found); got != tt.found {
				t.Errorf("damaged %t, %s: found %s, want %s", damaged, tt.name, got, tt.found)
			}
		}
	}
}

// TestLastWhole: LastWhole must return the newest whole checkpoint except the excluded
// one. If a newer checkpoint may not be read, LastWhole must fail.
func TestLastWhole(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	for name, tt := range map[string]struct {
		damaged []string
		except  string
		want    string
	}{
		"all are whole":                      {nil, "", ids[2]},
		"all but the newest":                 {ids[2:], "", ids[1]},
		"without the newest":                 {nil, ids[2], ids[1]},
		"without the only one that is whole": {ids[1:], ids[0], ""},
		"none is whole":                      {ids, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := map[string][]byte{}
			for _, id := range tt.damaged {
				before[id] = f.Read(f.CheckpointFile(id))
				checkpointtest.FlipByte(f, f.CheckpointFile(id), 100)
			}
			last, err := validate.LastWhole(context.Background(), f.Open(), nil, snap.State, tt.except)
			checkpointtest.Must(t, err)
			if last == nil && tt.want != "" || last != nil && last.ID != tt.want {
				t.Errorf("the last whole checkpoint is %+v, want %q", last, tt.want)
			}
			for id, data := range before {
				f.Write(f.CheckpointFile(id), data)
			}
		})
	}
	f.Options.FS = forbidden{f.FS, filepath.Base(f.Checkpoints().FilePath(ids[2]))}
	if last, err := validate.LastWhole(context.Background(), f.Open(), nil, snap.State, ""); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the newest checkpoint may not be read: %+v, %v", last, err)
	}
}
