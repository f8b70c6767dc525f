//go:build unix

package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/report"
)

// What workstreams report while they run.

// The lines that a workstream can report.
const (
	tellFix      = "fix"      // a note, the same in each attempt
	tellCleanup  = "cleanup"  // a note, another one in each attempt
	tellAsk      = "ask"      // a message
	tellAnswer   = "answer"   // the response to it
	tellConflict = "conflict" // the start of a conflict, which makes a checkpoint
	tellSettle   = "settle"   // its end
	tellCapture  = "capture"  // knowledge that all workstreams with the same number capture
	tellInject   = "inject"   // knowledge that was given to the workstream
	tellSet      = "set"      // a key
	tellUnset    = "unset"    // removes it
	tellSpend    = "spend"    // a number of tokens
	tellPay      = "pay"      // an amount of money
	tellSay      = "say"      // an output
	tellPoint    = "point"    // asks for a checkpoint
	tellNonsense = "nonsense" // no report
)

//nolint:gochecknoglobals // a constant, if lists could be
var tells = []string{
	tellFix, tellCleanup, tellAsk, tellAnswer, tellConflict, tellSettle, tellCapture, tellInject,
	tellSet, tellUnset, tellSpend, tellSpend, tellPay, tellSay, tellPoint, tellNonsense,
}

// drawTells draws what a workstream reports.
func (w *histWork) drawTells(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "reports") > 0 {
		return
	}
	for range rapid.IntRange(1, 5).Draw(t, "lines") {
		w.Tells = append(w.Tells, rapid.SampledFrom(tells).Draw(t, "tells"))
	}
	w.Listens = rapid.IntRange(0, 2).Draw(t, "listens") == 0
	w.Pace = rapid.SampledFrom([]int{10, 30, 60, 150}).Draw(t, "pace")
	w.Bills = rapid.IntRange(0, 3).Draw(t, "bills") == 0
}

// drawDeath draws the workstream in whose reports the process dies.
func (a *act) drawDeath(t *rapid.T, works []*histWork) {
	telling := slices.DeleteFunc(works, func(w *histWork) bool { return len(w.Tells) == 0 })
	if len(telling) == 0 {
		return
	}
	w := rapid.SampledFrom(telling).Draw(t, "dies in")
	a.DiesIn, a.After = w.Name, rapid.IntRange(0, len(w.Tells)).Draw(t, "after")
	a.Lingers = rapid.IntRange(0, 3).Draw(t, "lingers") == 0
}

// line returns the line with which an attempt of a workstream reports something.
func (w *histWork) line(tell string, attempt int) ledger.Report {
	number := w.Name[len(w.Name)-1:]
	switch tell {
	case tellFix:
		return ledger.Report{Type: ledger.TypeNote, Kind: ledger.NoteKeyFix, File: ledger.Text(w.Name), Change: "fixed"}
	case tellCleanup:
		return ledger.Report{Type: ledger.TypeNote, Kind: ledger.NoteCleanup, Change: ledger.Text(fmt.Sprintf("%s, attempt %d", w.Name, attempt))}
	case tellAsk:
		return ledger.Report{Type: ledger.TypeMessage, ID: "m" + w.Name, Body: ledger.Text(fmt.Sprintf("question %d", attempt%2))}
	case tellAnswer:
		return ledger.Report{Type: ledger.TypeMessage, ID: "m" + w.Name, Status: ledger.Done, Response: "yes"}
	case tellConflict:
		return ledger.Report{Type: ledger.TypeConflict, ID: "c" + w.Name, Status: ledger.Start, Parties: []string{w.Name}}
	case tellSettle:
		return ledger.Report{Type: ledger.TypeConflict, ID: "c" + w.Name, Status: ledger.Resolved}
	case tellCapture:
		return ledger.Report{Type: ledger.TypeKnowledge, ID: "k" + number, Status: ledger.Captured}
	case tellInject:
		return ledger.Report{Type: ledger.TypeKnowledge, ID: "k" + number, Status: ledger.Injected}
	case tellSet:
		return ledger.Report{Type: ledger.TypeState, Key: w.Name, Value: fmt.Sprintf("%s/%d", w.Name, attempt)}
	case tellUnset:
		return ledger.Report{Type: ledger.TypeState, Key: w.Name, Unset: true}
	case tellSpend:
		return ledger.Report{Type: ledger.TypeMetric, Name: ledger.MetricTokensIn, Value: json.Number(fmt.Sprint(1 + attempt%3))}
	case tellPay:
		return ledger.Report{Type: ledger.TypeMetric, Name: ledger.MetricCostUSD, Value: json.Number("0.1")}
	case tellSay:
		return ledger.Report{Type: ledger.TypeOutput, Name: "said", Value: "yes"}
	case tellPoint:
		return ledger.Report{Type: ledger.TypeCheckpoint, Reason: ledger.Text(fmt.Sprintf("%s, attempt %d", w.Name, attempt))}
	}
	return ledger.Report{}
}

// tell reports what an attempt has to report, at its pace. An attempt that listens waits for the
// acknowledgement of each report. The process dies after the given number of lines, unless
// that is negative. tell returns how many lines the attempt has written, and how many of
// these it knows to be on record.
func (s *stage) tell(ctx context.Context, task runner.Task, w *histWork, attempt, dies int) (written, acknowledged int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := s.disk.ended
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	path := task.Env["RUNNER_REPORT"]
	for _, tell := range w.Tells {
		if w.Pace > 0 {
			select {
			case <-time.After(time.Duration(w.Pace) * time.Millisecond): // of the clock of the history
			case <-ctx.Done():
			}
		}
		if written == dies {
			s.disk.kill()
		}
		if s.isDead() && !s.act.Lingers {
			return written, acknowledged
		}
		var err error
		r := w.line(tell, attempt)
		switch {
		case tell == tellNonsense:
			err = appendLine(path, "nonsense")
		case !w.Listens || ctx.Err() != nil:
			err = report.Append(path, r)
		default:
			err = report.Send(ctx, path, r)
			var refused *report.RefusedError
			if err == nil || errors.As(err, &refused) {
				acknowledged, err = written+1, nil
			}
		}
		if err != nil && ctx.Err() == nil {
			panic(err)
		}
		written++
	}
	if written == dies {
		s.disk.kill()
	}
	return written, acknowledged
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// reportFiles returns the present contents of the files into which attempts report, by
// path.
func (s *stage) reportFiles() map[string]string {
	paths, err := filepath.Glob(filepath.Join(s.dir, ".runner", "PRD-001", "run", "*.report"))
	if err != nil {
		panic(err)
	}
	files := map[string]string{}
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil {
			files[path] = string(text)
		}
	}
	return files
}

// putReports restores the files that existed when the process died, since what the engine
// did to them after its death does not count.
func (s *stage) putReports() (err error) {
	for path := range s.reportFiles() {
		err = errors.Join(err, os.Remove(path))
	}
	for path, text := range s.unread {
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
	}
	return err
}

// modelTold is what the session has of reports.
type modelTold struct {
	fixes, cleanups []string
	messages        map[string]string // by id: status, body and response
	conflicts       map[string]string // by id: the party, or resolved
	captured        map[string]bool
	injected        map[string]bool
	values          map[string]string // by key
}

func newTold(captured map[string]bool) modelTold {
	return modelTold{messages: map[string]string{}, conflicts: map[string]string{}, values: map[string]string{}, captured: captured, injected: map[string]bool{}}
}

func (t modelTold) clone() modelTold {
	t.fixes, t.cleanups = slices.Clone(t.fixes), slices.Clone(t.cleanups)
	t.messages, t.conflicts, t.values = maps.Clone(t.messages), maps.Clone(t.conflicts), maps.Clone(t.values)
	t.captured, t.injected = maps.Clone(t.captured), maps.Clone(t.injected)
	return t
}

// resolved is what the model has of a conflict that is resolved.
const resolved = "resolved"

// What becomes of a line.
const (
	lineIsRefused = "refused"
	lineIsQuiet   = "quiet" // it says nothing new, so it is not recorded
	lineIsNew     = "new"
)

// take applies a line to what the session has, and returns what becomes of the line.
func (t *modelTold) take(w *histWork, tell string, attempt int) string {
	r := w.line(tell, attempt)
	switch tell {
	case tellFix, tellCleanup:
		list, note := &t.fixes, string(r.Change)
		if tell == tellCleanup {
			list = &t.cleanups
		}
		if r.File != "" {
			note = string(r.File + ": " + r.Change)
		}
		if slices.Contains(*list, note) {
			return lineIsQuiet
		}
		*list = append(*list, note)
	case tellAsk:
		was, known := t.messages[r.ID]
		now := "pending " + string(r.Body) + " "
		if strings.HasPrefix(was, "done ") {
			body := strings.TrimSuffix(strings.TrimPrefix(was, "done "), " yes")
			if body == string(r.Body) {
				return lineIsQuiet
			}
			return lineIsRefused
		}
		if known && was == now {
			return lineIsQuiet
		}
		t.messages[r.ID] = now
	case tellAnswer:
		was, known := t.messages[r.ID]
		switch {
		case !known:
			return lineIsRefused
		case strings.HasPrefix(was, "done "):
			return lineIsQuiet
		}
		t.messages[r.ID] = "done " + strings.TrimSuffix(strings.TrimPrefix(was, "pending "), " ") + " yes"
	case tellConflict:
		switch t.conflicts[r.ID] {
		case resolved:
			return lineIsRefused
		case w.Name:
			return lineIsQuiet
		}
		t.conflicts[r.ID] = w.Name
	case tellSettle:
		switch t.conflicts[r.ID] {
		case "":
			return lineIsRefused
		case resolved:
			return lineIsQuiet
		}
		t.conflicts[r.ID] = resolved
	case tellCapture:
		if t.captured[r.ID] {
			return lineIsRefused
		}
		t.captured[r.ID] = true
	case tellInject:
		if t.injected[r.ID] {
			return lineIsQuiet
		}
		t.injected[r.ID] = true
	case tellSet, tellUnset:
		now := string(r.Text())
		if t.values[r.Key] == now {
			return lineIsQuiet
		}
		if t.values[r.Key] = now; r.Unset {
			delete(t.values, r.Key)
		}
	case tellNonsense:
		return lineIsRefused
	}
	return lineIsNew
}

// reported applies the record of reports. It must have exactly the lines that the attempt
// wrote and that follow those on record, each with the result that the model expects.
func (m *model) reported(e state.ReportsReceived) error {
	w, work := m.works[e.Workstream], m.work(e.Workstream)
	if e.Attempt != w.attempts {
		return fmt.Errorf("the present attempt is %d", w.attempts)
	}
	if e.Lines == 0 {
		return m.billed(e)
	}
	if e.Lines <= w.read || e.Lines > w.told {
		return fmt.Errorf("the attempt has written %d lines, of which %d are on record", w.told, w.read)
	}
	var recorded []ledger.Report
	refused := map[int]bool{}
	for n := w.read + 1; n <= e.Lines; n++ {
		tell := work.Tells[n-1]
		switch m.told.take(work, tell, w.attempts) {
		case lineIsNew:
			r := work.line(tell, w.attempts)
			if tell == tellSay { // only the last one of an event counts
				recorded = slices.DeleteFunc(recorded, func(r ledger.Report) bool { return r.Type == ledger.TypeOutput })
			}
			recorded = append(recorded, r)
			m.spend(m.phaseOf(e.Workstream), r)
		case lineIsRefused:
			refused[n] = true
		}
	}
	w.read = e.Lines
	for _, r := range e.Refused {
		for n := r.Line; n <= r.Line+r.More; n++ {
			if !refused[n] {
				return fmt.Errorf("line %d is refused: %s", n, r.Reason)
			}
			delete(refused, n)
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("lines are not refused: %v", refused)
	}
	return sameLines(recorded, e.Reports)
}

func sameLines(want, got []ledger.Report) error {
	if is, must := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); is != must {
		return fmt.Errorf("the reports on record are %s, and must be %s", is, must)
	}
	return nil
}

// billed applies what an attempt spent according to its outputs, which is recorded once, at
// the end of the attempt.
func (m *model) billed(e state.ReportsReceived) error {
	w := m.works[e.Workstream]
	r := bill()
	m.spend(m.phaseOf(e.Workstream), r)
	err := m.mustBe(m.work(e.Workstream).Bills && w.status == state.Running && m.run.tries[e.Workstream] > 0 && !w.billed, "the attempt has no bill")
	w.billed = true
	return errors.Join(err, sameLines([]ledger.Report{r}, e.Reports))
}

func bill() ledger.Report {
	return ledger.Report{Type: ledger.TypeMetric, Name: ledger.MetricTokensOut, Value: json.Number("2")}
}

// unheard returns an error if a line of an attempt, up to the given one, is not on record
// and says something.
func (m *model) unheard(name string, upTo int) error {
	w, told := m.works[name], m.told.clone()
	for n := w.read + 1; n <= upTo; n++ {
		if tell := m.work(name).Tells[n-1]; told.take(m.work(name), tell, w.attempts) != lineIsQuiet {
			return fmt.Errorf("line %d of attempt %d of %s is not on record: %s", n, w.attempts, name, tell)
		}
	}
	return nil
}

// heard returns an error if an attempt that ends has written something that is not on
// record.
func (m *model) heard(name string) error {
	w := m.works[name]
	err := m.unheard(name, w.told)
	w.read = w.told
	if _, ran := m.run.log[m.key(name, w.attempts)]; ran && m.run.tries[name] > 0 {
		err = errors.Join(err, m.mustBe(w.billed == m.work(name).Bills, "the bill of the attempt is not on record"))
	}
	return err
}

// acknowledged returns an error if a report was acknowledged before the process died, and
// did not become durable.
func (p *play) acknowledged() error {
	for key, d := range p.log {
		w := p.m.works[d.name]
		if w == nil || d.acknowledged == 0 {
			continue
		}
		if key != p.m.key(d.name, w.attempts) {
			if p.m.work(d.name) != nil && p.m.attemptOf(key) > w.attempts {
				return fmt.Errorf("%s has acknowledged reports, and no start on record", key)
			}
			continue
		}
		if err := p.m.unheard(d.name, d.acknowledged); err != nil {
			return fmt.Errorf("it was acknowledged: %w", err)
		}
	}
	return nil
}

func (m *model) attemptOf(key string) (n int) {
	_, number, _ := strings.Cut(key, "/")
	_, _ = fmt.Sscan(number, &n)
	return n
}

// allHeard returns an error if a run has left reports of an earlier run unread.
func (m *model) allHeard() error {
	for name := range m.works {
		if err := m.unheard(name, m.works[name].told); err != nil {
			return err
		}
	}
	return nil
}

// sameTold compares what the session has of reports with the model.
func (m *model) sameTold(st *state.State) error {
	is := newTold(map[string]bool{})
	for _, f := range st.Notes.KeyFixes {
		is.fixes = append(is.fixes, f.File+": "+f.Change)
	}
	is.cleanups = st.Notes.CleanupDone
	for id, message := range st.Ledgers.Messages {
		is.messages[id] = fmt.Sprintf("%s %s %s", message.Status, message.Body, message.Response)
	}
	for id, c := range st.Ledgers.Conflicts {
		is.conflicts[id] = strings.Join(c.Parties, " ")
		if c.ResolvedAt != nil {
			is.conflicts[id] = resolved
		}
	}
	for id, k := range st.Ledgers.Knowledge {
		if k.CapturedAt != nil {
			is.captured[id] = true
		}
		if k.InjectedAt != nil {
			is.injected[id] = true
		}
	}
	for key, v := range st.Ledgers.Values {
		is.values[key] = string(v.Value)
	}
	if got, want := fmt.Sprintf("%+v", is), fmt.Sprintf("%+v", m.told); got != want {
		return fmt.Errorf("the session has of reports\n%s, and must have\n%s", got, want)
	}
	return nil
}

// said compares the outputs of an attempt that were reported with those on record.
func (m *model) said(name string, work state.Work) error {
	_, has := work.Outputs["said"]
	return m.mustBe(has == slices.Contains(m.work(name).Tells, tellSay), "the output that was reported is not recorded as it must be: %t", has)
}
