package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/ledger"
	"prdrunner/runner/report"
)

// readLeft records the reports that a killed Runner had not read yet, and removes their files.
// These reports count, although their attempts run again, because what they report has
// happened. readLeft returns when all of them are durable. So an attempt starts only if the
// budgets allow it with what they say was spent, and its lines are counted from 1.
func (rs *reports) readLeft() {
	l := rs.loop
	dir := filepath.Dir(l.opts.Store.Layout().ReportPath(l.pipeline.ID, "", 0))
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.warnUser(fmt.Sprintf("reports of an earlier run can't be read: %v", err))
	}
	left := make(map[string]bool)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), disk.ReportExt) {
			left[e.Name()] = true
		}
	}
	if len(left) == 0 {
		return
	}
	for w := range l.session.State().Records() {
		path := l.opts.Store.Layout().ReportPath(l.pipeline.ID, w.Name, w.Attempts)
		if ws := l.pipeline.Workstream(w.Name); ws != nil && ws.Calls != "" {
			continue // the session of the called pipeline has told what was spent
		}
		if left[filepath.Base(path)] {
			delete(left, filepath.Base(path))
			reader := report.NewReader(path, w.Reported)
			rs.readAll(&reporting{workstream: w.Name, attempt: w.Attempts}, reader, func() {
				reader.Close()
				if l.recorder.Err() == nil {
					_ = os.RemoveAll(path)
				}
			})
		}
	}
	l.recorder.Drain()
	for name := range left { // of calls, and of attempts that have been repeated since
		_ = os.RemoveAll(filepath.Join(dir, name))
	}
}

// readAll records the reports of a file, one batch after the other, and then calls done.
func (rs *reports) readAll(rep *reporting, r *report.Reader, done func()) {
	b, more := r.Read(true)
	rs.receive(rep, b, func() {
		if more {
			rs.readAll(rep, r, done)
			return
		}
		done()
	})
}

// capturedKnowledge returns the knowledge that the PRD's earlier sessions captured, for a
// session that begins anew. A session has that of the sessions before it on record.
func (op *opening) capturedKnowledge() (map[string]ledger.Knowledge, error) {
	if st := op.loop.session.State(); st != nil {
		var all ledger.Ledgers
		all.KeepCaptures(st.Ledgers)
		return all.Knowledge, nil
	}
	earlier, err := op.loop.opts.Store.Layout().ReadActs(op.loop.pipeline.ID)
	return earlier.Captured, err
}
