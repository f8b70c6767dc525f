package view

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// emulator is a terminal as far as screen uses one: it has endless rows, and breaks lines that are
// too long.
type emulator struct {
	columns int
	rows    [][]rune
	row     int
	column  int
}

func (e *emulator) write(s string) {
	for s != "" {
		var n int
		switch {
		case strings.HasPrefix(s, beginFrame):
			s = s[len(beginFrame):]
		case strings.HasPrefix(s, endFrame):
			s = s[len(endFrame):]
		case strings.HasPrefix(s, eraseRight):
			e.cut(e.row, e.column)
			s = s[len(eraseRight):]
		case strings.HasPrefix(s, eraseBelow):
			e.cut(e.row, e.column)
			e.rows = e.rows[:min(len(e.rows), e.row+1)]
			s = s[len(eraseBelow):]
		case strings.HasPrefix(s, "\x1b["):
			if read, err := fmt.Sscanf(s, "\x1b[%dA", &n); read != 1 || err != nil {
				panic(fmt.Sprintf("the emulator does not know %q", s))
			}
			e.row -= n
			s = s[strings.IndexByte(s, 'A')+1:]
		case s[0] == '\r':
			e.column, s = 0, s[1:]
		case s[0] == '\n':
			e.row, e.column, s = e.row+1, 0, s[1:]
		default:
			for i, r := range s {
				if i > 0 {
					s = s[i:]
					break
				}
				e.put(r)
				if len(s) == len(string(r)) {
					s = ""
					break
				}
			}
		}
	}
}

func (e *emulator) put(r rune) {
	if e.column == e.columns {
		e.row, e.column = e.row+1, 0
	}
	for len(e.rows) <= e.row {
		e.rows = append(e.rows, nil)
	}
	for len(e.rows[e.row]) <= e.column {
		e.rows[e.row] = append(e.rows[e.row], ' ')
	}
	e.rows[e.row][e.column] = r
	e.column++
}

func (e *emulator) cut(row, column int) {
	if row < len(e.rows) {
		e.rows[row] = e.rows[row][:min(len(e.rows[row]), column)]
	}
}

func (e *emulator) text() string {
	var lines []string
	for _, r := range e.rows {
		lines = append(lines, strings.TrimRight(string(r), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// TestScreen: after any updates, the terminal shows all the text that was printed, and below it
// the last lines.
func TestScreen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const columns = 20
		e := &emulator{columns: columns}
		var out bytes.Buffer
		s := screen{out: &output{w: &out}}
		printed := &emulator{columns: columns}
		for range rapid.IntRange(1, 8).Draw(t, "updates") {
			text := ""
			for _, line := range rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,50}`), 0, 3).Draw(t, "text") {
				text += line + "\n"
			}
			var lines []row
			for _, line := range rapid.SliceOfN(rapid.StringMatching(`[A-Z]{0,19}`), 0, 4).Draw(t, "lines") {
				lines = append(lines, row{line, len(line)})
			}
			s.update(text, lines, columns)
			e.write(out.String())
			out.Reset()
			printed.write(text)
			want := printed.text()
			for i, l := range lines {
				if i == 0 && printed.row > 0 {
					want = printed.text() + strings.Repeat("\n", printed.row-strings.Count(printed.text(), "\n"))
				} else if i > 0 {
					want += "\n"
				}
				want += l.text
			}
			if got := e.text(); got != strings.TrimRight(want, "\n") {
				t.Fatalf("the terminal shows\n%q, want\n%q", got, want)
			}
		}
	})
}

// shown is what a view has written.
type shown struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *shown) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

// take returns what was written since the last call.
func (s *shown) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

// TestLive: what happens is shown with the next frame, clocks go on, nothing is drawn while another
// holds the screen, and nothing after the end.
func TestLive(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	for name, text := range map[string]string{"fetch.1.log": "50 %\r60 %", "fetch.vet.1.log": "1 file\n\n"} {
		if err := os.WriteFile(filepath.Join(logs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		out := &shown{}
		v := New(Auto, Options{Out: out, Logs: Logs{Dir: logs}, Size: func() (int, int) { return 80, 24 }})
		commit := func(events ...state.Event) { v.Commit(state.Commit{Time: time.Now(), Events: events}) }
		pass := func(d time.Duration) string {
			time.Sleep(d)
			synctest.Wait()
			return out.take()
		}
		expect := func(got string, wants ...string) {
			t.Helper()
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
		}
		v.Begin(runner.Beginning{PRD: "PRD-009", Session: "s-1", Plan: monorepo(1)})
		commit(state.PhaseStarted{Phase: "build"}, state.WorkstreamStarted{Workstream: "fetch", Attempt: 1})
		expect(pass(frameInterval), "Phase 1 of 13: build\n", "0s  1 running", "● fetch", "60 %")
		expect(pass(4*time.Second), "3s  1 running")

		commit(state.WorkstreamSucceeded{Workstream: "fetch"}, state.GateStarted{Gate: "vet (fetch)", Attempt: 1})
		expect(pass(frameInterval), "● vet (fetch)", "is being judged  1 file")
		commit(state.GatePassed{Verdict: state.Verdict{Gate: "vet (fetch)"}})
		expect(pass(frameInterval), "✓ vet (fetch) passed")

		release := v.(Holder).Hold()
		if got := out.take(); !strings.HasSuffix(got, eraseBelow+endFrame) {
			t.Errorf("the frame stays while another holds the screen: %q", got)
		}
		commit(state.WorkstreamCompleted{Workstream: "fetch"})
		if got := pass(time.Minute); got != "" {
			t.Errorf("it writes %q while another holds the screen", got)
		}
		release()
		expect(pass(frameInterval), "✓ fetch  0s\n", "build  2 of 4  1m 4s  1 reused")

		outer := v.(Holder).Hold()
		out.take()
		commit(state.WorkstreamSkipped{Workstream: "lint"}, state.WorkstreamStarted{Workstream: `package["p0"]`, Attempt: 1})
		inner := v.(Holder).Hold()
		inner()
		if got := pass(time.Second); got != "" {
			t.Errorf("it writes %q while one of two holds the screen", got)
		}
		outer()
		v.Stop(runner.Stopping{Signal: "SIGINT", KillAt: time.Now().Add(10 * time.Second)})
		expect(out.take(), "! Ctrl+C: waits up to 10s for package[\"p0\"]; a second Ctrl+C kills what still\n  runs\n", "stopping  kills what still runs in 10s; Ctrl+C kills it now")
		expect(pass(5*time.Second), "in 6s")
		v.Stop(runner.Stopping{Signal: "SIGINT"})
		expect(out.take(), "! Ctrl+C again: kills what still runs\n", "stopping  kills what still runs")

		v.End(runner.Ending{Status: state.StatusPaused, Signal: "SIGINT"})
		if got := out.take(); !strings.HasSuffix(got, "interrupted by SIGINT  0s\n  1 done, 1 skipped, 2 left\n"+endFrame) {
			t.Errorf("it ends with %q", got)
		}
		v.Close()
		if got := pass(time.Minute); got != "" {
			t.Errorf("it writes %q after the end", got)
		}
	})
}

// TestLiveIsDivided: lines are divided at spaces where the terminal ends, also after it has another width.
func TestLiveIsDivided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, columns := &shown{}, 30
		v := New(Auto, Options{Out: out, Size: func() (int, int) { return columns, 24 }})
		v.Begin(runner.Beginning{PRD: "PRD-009", Title: "a title of many words", Session: "s-1", Plan: monorepo(1)})
		if got := out.take(); !strings.Contains(got, "PRD-009: a title of many words\n  session s-1\n") {
			t.Errorf("the first line is not divided: %q", got)
		}
		warned := func() string {
			v.Warn("this is a warning of about fifty columns or some more")
			time.Sleep(frameInterval)
			synctest.Wait()
			return out.take()
		}
		if got, want := warned(), "! this is a warning of about\n  fifty columns or some more\n"; !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
		columns = 80
		warned() // the next one is printed for the new width
		if got, want := warned(), "! this is a warning of about fifty columns or some more\n"; !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
		v.Close()
	})
}

// TestLiveWithoutAnEnd: Close ends a view whose run has failed before its end.
func TestLiveWithoutAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &shown{}
		v := New(Auto, Options{Out: out, Size: func() (int, int) { return 80, 24 }})
		v.Begin(runner.Beginning{PRD: "PRD-009", Plan: monorepo(1)})
		v.Commit(state.Commit{Time: time.Now(), Events: []state.Event{state.PhaseStarted{Phase: "build"}}})
		v.Close()
		if got := out.take(); !strings.Contains(got, "Phase 1 of 13: build\n") {
			t.Errorf("what happened last is not shown: %q", got)
		}
	})
}
