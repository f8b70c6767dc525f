//go:build unix

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// The tasks, the answers and the views of a history.

// deed is the result of a task.
type deed struct {
	name      string
	saw       map[string]string // the content of its inputs
	used      string            // the output of another workstream in its definition
	seen      string            // the status of another workstream in its definition
	made      string            // the content of its artifact, complete or not
	value     string            // its output and metric
	ok        bool
	code      int               // its exit code
	given     map[string]string // the values of variables
	late      bool              // the task exceeded its timeout
	cancelled bool
	finds     []string // of the review

	iteration, counted string // the number of the iteration, by RUNNER_ITERATION and by iteration.index

	told         int // how many lines it has reported
	acknowledged int // the last line that it knows to be on record
}

// Run implements runner.Executor.
func (s *stage) Run(ctx context.Context, task runner.Task, sink runner.Sink) (runner.Result, error) {
	r := runner.Result{Outcome: runner.Exited, Started: s.now, Ended: s.now}
	s.mu.Lock()
	if s.isDead() || ctx.Err() != nil {
		s.mu.Unlock()
		r.Outcome = runner.Cancelled
		return r, nil
	}
	sink.Started(1)
	s.tasks++
	stop := s.tasks == s.act.Interrupt
	key, d := task.ID[strings.Index(task.ID, "/")+1:], deed{}
	switch name, _, _ := strings.Cut(key, "/"); {
	case task.Env["RUNNER_GATE"] != "":
		d = s.judgement(task, stop)
	case name == reviewKey:
		d = s.review(task, stop)
	case strings.HasSuffix(name, "..verify"):
		d = s.verification(task, stop)
	default:
		d = s.perform(task, stop)
	}
	s.log[key] = d
	if s.tasks == s.act.Dies {
		s.disk.kill()
	}
	asks := s.tasks == s.act.Pause
	s.mu.Unlock()
	if w := s.workOf(key[:strings.Index(key, "/")]); w != nil && len(w.Tells) > 0 {
		s.report(ctx, task, w, key)
	}
	if asks {
		if err := s.askForPause(ctx); err != nil {
			return r, err
		}
	}
	switch {
	case stop:
		s.signal <- "SIGINT"
		<-ctx.Done()
		r.Outcome = runner.Cancelled
	case d.late:
		r.Outcome = runner.TimedOut
	default:
		r.ExitCode = d.code
	}
	return r, nil
}

// report reports what an attempt has to report, and logs that.
func (s *stage) report(ctx context.Context, task runner.Task, w *histWork, key string) {
	after := -1
	if w.Name == s.act.DiesIn {
		after = s.act.After
	}
	_, number, _ := strings.Cut(key, "/")
	attempt, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	told, acknowledged := s.tell(ctx, task, w, attempt, after)
	s.mu.Lock()
	defer s.mu.Unlock()
	if path := task.Env["RUNNER_REPORT"]; s.isDead() {
		if s.act.Lingers { // its process outlives the engine's
			s.unread[path] = s.reportFiles()[path]
		}
		told = strings.Count(s.unread[path], "\n")
	}
	d := s.log[key]
	d.told, d.acknowledged = told, acknowledged
	s.log[key] = d
}

func (s *stage) isDead() bool {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.dead
}

// work runs a workstream. Its result is a function of its inputs. Many different inputs
// of a pure workstream give the same result.
func (s *stage) work(task runner.Task, stop bool) deed {
	name := task.Env["RUNNER_WORKSTREAM"]
	w := s.workOf(name)
	tree := s.tree()
	d := deed{name: name, saw: map[string]string{}, given: map[string]string{}, used: task.Env["USED"], seen: task.Env["SEEN"], cancelled: stop}
	for _, path := range s.h.inputs(*w) {
		if text, ok := tree[path]; ok {
			d.saw[path] = text
		}
	}
	fails := s.failed[name] < s.act.Fails[name]
	if fails {
		s.failed[name]++
	}
	d.ok = !fails && !stop
	if !d.ok {
		d.code, d.late = 1, slices.Contains(s.act.Hangs, name) && task.Timeout == time.Hour
	}
	for _, v := range w.Vars {
		d.given[v] = task.Env[strings.ToUpper(v)]
	}
	d.iteration, d.counted = task.Env["RUNNER_ITERATION"], task.Env["ITERATION"]
	d.value, d.made = product(w, task.Command[1], d)
	if !d.ok {
		d.made = "a part of " + name
	}
	if w.Makes {
		if err := s.write(w.artifact(), d.made); err != nil {
			panic(err)
		}
	}
	out := task.Env["RUNNER_OUTPUT"]
	text := "value=" + d.value + "\nmetric.of-" + name + "=" + d.value + "\n"
	if w.Bills {
		text += fmt.Sprintf("metric.%s=%v\n", bill().Name, bill().Value)
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(out), 0o700), os.WriteFile(out, []byte(text), 0o600))
	if err != nil {
		panic(err)
	}
	return d
}

// product returns the output and the artifact that a workstream makes from its inputs.
func product(w *histWork, version string, d deed) (value, made string) {
	sum := 0
	for _, text := range slices.Concat(slices.Collect(maps.Values(d.saw)), []string{version, d.used, d.counted}) {
		if n, err := strconv.Atoi(text); err == nil {
			sum += n
		}
	}
	if w.Effect == "pure" {
		return strconv.Itoa(sum / 3 % 2), fmt.Sprintf("%s %d", w.Name, sum/3%2)
	}
	return strconv.Itoa(sum % 3), fmt.Sprintf("%s %s of %q, %q", w.Name, version, d.saw, d.used)
}

func (s *stage) judgement(task runner.Task, stop bool) deed {
	owner := task.Env["RUNNER_WORKSTREAM"]
	if owner == "" {
		owner = task.Env["RUNNER_PHASE"]
	}
	label := task.Env["RUNNER_GATE"] + " (" + owner + ")"
	d := deed{name: label, cancelled: stop, ok: !stop && !slices.Contains(s.act.Rejects, label)}
	if !d.ok {
		d.code = 1
	}
	return d
}

// verification is the verify command of a once step. If other workstreams use the outputs
// of the step, verification never says that the step happened, because the outputs are
// lost.
func (s *stage) verification(task runner.Task, stop bool) deed {
	name := task.Env["RUNNER_WORKSTREAM"]
	code, told := s.act.Verify[name]
	if !told || code == 0 && !s.workOf(name).Toggled {
		code = 2
	}
	return deed{name: name, cancelled: stop, ok: !stop && code == 0, code: code}
}

// askForPause asks the engine for a pause, like another command.
func (s *stage) askForPause(ctx context.Context) error {
	r := checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbPause, By: state.Actor{User: "tester"}}
	err := s.store.Ask(ctx, r, func(*checkpoint.Session) error { return errors.New("no build is running") })
	if errors.Is(err, context.Canceled) || s.isDead() {
		return nil
	}
	return err
}

func (s *stage) workOf(name string) *histWork {
	for _, w := range s.h.works() {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// Approve implements runner.Asker.
func (s *stage) Approve(_ context.Context, q runner.Question) (runner.Answer, error) {
	verdict := runner.Later
	switch s.act.Answers[q.Gate] {
	case "approve":
		verdict = runner.Approve
	case "reject":
		verdict = runner.Reject
	}
	return runner.Answer{Verdict: verdict, By: state.Actor{User: "tester"}}, nil
}

// Resolve implements runner.Asker.
func (s *stage) Resolve(context.Context, *runner.ConflictError) (plan.OnConflict, error) {
	return plan.ConflictFail, nil
}

// Unwritten implements runner.Asker.
func (s *stage) Unwritten(context.Context, string) (record.OnFailure, error) {
	return record.Pause, nil
}

// Proceed implements runner.Asker.
func (s *stage) Proceed(context.Context, plan.Stale) (bool, error) { return false, nil }

// Begin implements runner.View.
func (s *stage) Begin(b runner.Beginning) { s.plan = b.Plan }

// Commit implements runner.View. A commit counts as acknowledged when it is shown.
func (s *stage) Commit(c state.Commit) {
	if !s.isDead() {
		s.shown = c.Seq
	}
}

// Warn implements runner.View.
func (s *stage) Warn(string) {}

func (s *stage) Stop(runner.Stopping) {}

// Await implements View.
func (s *stage) Await(runner.Awaited) {}

// End implements runner.View.
func (s *stage) End(runner.Ending) {}
