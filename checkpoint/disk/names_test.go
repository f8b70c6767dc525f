package disk_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestCheckID: an id may not lead out of the state directory, name what Runner keeps
// there, or break a git reference.
func TestCheckID(t *testing.T) {
	t.Parallel()
	for id, why := range map[string]string{
		"PRD-009": "", "a.b": "", "café": "", "lock": "", ".hidden": "",
		"": "a directory", ".": "a directory", "..": "a directory", "a/b": "a directory", `a\b`: "a directory",
		"objects": "of its own", "Locks": "of its own", "store": "of its own",
		"a.json": "names that end with", "a.Archiving": "names that end with", "a.moving": "names that end with",
		"a..b": "git reference", "a.": "git reference", "a.lock": "git reference",
	} {
		err := disk.CheckID(id)
		var refused *disk.IDError
		if why == "" && err != nil || why != "" && (!errors.As(err, &refused) || refused.ID != id || !strings.Contains(refused.Why, why)) {
			t.Errorf("%q: %v, want %q", id, err, why)
		}
	}
}

// TestEncodeName: letters, digits and a few more characters stay, and a long name is cut.
func TestEncodeName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", disk.MaxEncoded)
	for name, want := range map[string]string{
		"azAZ09._-": "azAZ09._-", ".a": "%2Ea", "a b": "a%20b", "/": "%2F", "@[`{": "%40%5B%60%7B", ":": "%3A", long: long,
	} {
		if got := disk.EncodeName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	cut, other := disk.EncodeName(long+"a"), disk.EncodeName(long+"b")
	if len(cut) != disk.MaxEncoded || cut == other || !strings.HasPrefix(cut, "xxx") {
		t.Errorf("%q and %q", cut, other)
	}
}

// TestCheckpointNames: only names in the form of Runner's own are those of checkpoints.
func TestCheckpointNames(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	id := disk.NewCheckpointID("phase 1", at, "origin")
	if id != disk.NewCheckpointID("phase 1", at, "origin") || id == disk.NewCheckpointID("phase 1", at, "other") {
		t.Errorf("%s does not depend on its origin alone", id)
	}
	rest := strings.TrimPrefix(id, "CP-phase%201-")
	longest := strings.Repeat("x", 255-len(disk.JSONExt+disk.ZstExt)-len("CP--")-len(rest))
	for given, want := range map[string]bool{
		id: true, "CP-a-" + rest: true, "CP-" + longest + "-" + rest: true,
		"": false, "CP-": false, "CP--" + rest: false, "XX-a-" + rest: false, "CP-" + longest + "x-" + rest: false,
		"CP-/-" + rest: false, "CP-ä-" + rest: false, "CP-a_" + rest: false,
		"CP-a-" + strings.Replace(rest, "Z-", "Z_", 1):     false,
		"CP-a-" + strings.Replace(rest, "1211", "1311", 1): false,
		"CP-a-" + rest[:len(rest)-1] + "g":                 false,
	} {
		for name, extension := range map[string]bool{given + ".json": true, given + ".json.zst": true, given: false, given + ".zst": false} {
			got, ok := disk.CheckpointOf(name)
			if ok != (want && extension) || ok && got != given {
				t.Errorf("the file %q is of %q, %t", name, got, ok)
			}
		}
		for member, known := range map[string]bool{disk.CheckpointMember(given): true, given + ".json": false, "checkpoints/" + given: false} {
			got, ok := disk.CheckpointOfMember(member)
			if ok != (want && known) || ok && got != given {
				t.Errorf("the member %q is of %q, %t", member, got, ok)
			}
		}
	}
}

// TestIsStateOf: what belongs to a PRD is recognised by its first name, in any case.
func TestIsStateOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"PRD-009": true, "prd-009/journal.jsonl": true, "PRD-009.json": true, "PRD-009.archiving/x": true, "PRD-009.deleting": true,
		"PRD-009.importing": true, "PRD-009.moving": true, "failed/PRD-009-20251211T100000Z": true, "Failed/PRD-009-20251211T100000Z-2/x": true,
		"PRD-010": false, "PRD-009.lock": false, "locks/PRD-009.lock": false, "objects/ab": false, "failed/PRD-010-20251211T100000Z": false,
		"failed/PRD-009": false, "failed/PRD-009-20251311T100000Z": false, "failed": false, "": false,
	} {
		if got := disk.IsStateOf("PRD-009", path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}

// TestRefNames: the name of a git reference says which session of which state directory
// made it.
func TestRefNames(t *testing.T) {
	t.Parallel()
	s := &state.State{PRD: "PRD 9", Session: "0123456789"}
	if got := disk.CaptureRef(s, "abcdef01", 7); got != "refs/runner/PRD%209/01234567-abcdef01/7" {
		t.Error(got)
	}
	if got := disk.SessionRefs(&state.State{PRD: "P", Session: "12345678"}); got != "refs/runner/P/12345678/" {
		t.Error(got)
	}
	for ref, want := range map[string]string{
		"refs/runner/P/S-abcdef01/7":  "refs/runner/P/S/7",
		"refs/runner/P/S/7":           "refs/runner/P/S/7",
		"refs/runner/P/S-abcdefg1/7":  "refs/runner/P/S-abcdefg1/7",
		"refs/runner/P/S-abcdef012/7": "refs/runner/P/S-abcdef012/7",
		"refs/runner/P/S_abcdef01/7":  "refs/runner/P/S_abcdef01/7",
		"x":                           "x",
	} {
		if got := disk.RefKey(ref); got != want {
			t.Errorf("%s has the key %s, want %s", ref, got, want)
		}
	}
}

// TestJournals: the journals of a session are the current one, whether it exists or not,
// and those that it was compacted from, but no other file.
func TestJournals(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	dir := l.PRDDir("PRD-009")
	for _, name := range []string{"journal.jsonl", "journal.1.jsonl", "journal.2.jsonl", "journal.2.json", "next.jsonl", "manifest.json"} {
		checkpointtest.Must(t, store.WriteFile(m, filepath.Join(dir, name), nil))
	}
	for _, want := range [][]string{{"journal.jsonl", "journal.1.jsonl", "journal.2.jsonl"}, {"journal.jsonl", "journal.1.jsonl"}} {
		paths, err := l.Journals(dir)
		checkpointtest.Must(t, err)
		var names []string
		for _, path := range paths {
			names = append(names, filepath.Base(path))
		}
		if !slices.Equal(names, want) {
			t.Errorf("the journals are %q, want %q", names, want)
		}
		checkpointtest.Must(t, errors.Join(store.RemoveDurably(m, filepath.Join(dir, "journal.2.jsonl")), store.RemoveDurably(m, filepath.Join(dir, "journal.jsonl"))))
	}
	if _, err := l.Journals(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing directory has journals")
	}
}
