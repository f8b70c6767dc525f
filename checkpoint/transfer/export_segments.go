package transfer

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// segmentPattern matches the names of segments, the files that a journal was compacted
// from.
const segmentPattern = `^journal\.([0-9]{1,19})-([0-9]{1,19})\.jsonl$`

// segmentSpan returns the numbers of the first and the last commit of a segment, from its
// name.
func segmentSpan(name string) (first, last uint64, ok bool) {
	parts := regexp.MustCompile(segmentPattern).FindStringSubmatch(name)
	if parts == nil {
		return 0, 0, false
	}
	first, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	last, err = strconv.ParseUint(parts[2], 10, 64)
	return first, last, err == nil && 0 < first && first <= last
}

// segment is a file that a journal was compacted from.
type segment struct {
	name  string
	file  store.File
	size  int64
	began state.Commit // Seq and Prev of the first line
	end   journal.Tail
}

// gatherSegments adds the segments that the journal was compacted from, going back as long
// as each segment continues an earlier one. A segment that is created meanwhile is not
// needed: the exported journal holds its commits.
func (x *exporting) gatherSegments(began state.Commit) error {
	all, err := x.segments(began.Seq)
	if err != nil {
		return err
	}
	for {
		var before *segment
		for i, s := range all {
			if s.end.Seq <= began.Seq && s.end.Sum == began.Prev && (before == nil || s.began.Seq < before.began.Seq) {
				before = &all[i]
			}
		}
		if before == nil {
			return nil
		}
		x.addFile(before.name, before.file, before.size)
		began = before.began
	}
}

// segments reads the segments that end before the journal begins. It leaves out damaged
// segments, since they can't prove which segment comes before.
func (x *exporting) segments(begin uint64) ([]segment, error) {
	entries, err := x.store.FS().ReadDir(x.dir)
	if err != nil {
		return nil, fmt.Errorf("list the journals: %w", err)
	}
	var all []segment
	for _, e := range entries {
		first, last, ok := segmentSpan(e.Name())
		if !ok || last > begin {
			continue
		}
		s := segment{name: e.Name()}
		if s.file, err = store.OpenRegular(x.store.FS(), filepath.Join(x.dir, s.name)); err != nil {
			return nil, err
		}
		x.files = append(x.files, s.file)
		s.end, err = journal.ReplayRecords(x.prd, s.name, recordsOf(section(s.file)), func(c state.Commit) error {
			if s.began.Seq == 0 {
				s.began = state.Commit{Seq: c.Seq, Prev: c.Prev}
			}
			return nil
		})
		var damaged *state.DamagedError
		switch {
		case err != nil && !errors.As(err, &damaged):
			return nil, err
		case err == nil && len(s.end.Torn) == 0 && s.end.First == first && s.end.Seq == last:
			s.size = s.end.Size
			all = append(all, s)
		}
	}
	return all, nil
}
