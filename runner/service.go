package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/probe"
)

// A service runs beside the workstreams. Runner starts it when the first process needs it, waits
// until it is ready, starts it again as its restart block says, and stops it at the end of its
// phase or of the run. After a kill its process is found and ended like any other. Services use
// no slots.

// services are the services that run. The loop's goroutine owns them.
type services struct {
	loop *loop
	runs map[string]*serviceRun // by name; a service that has ended is not in it
}

// serviceRun is a service that runs or is about to.
type serviceRun struct {
	*pipeline.Service
	loop   *loop
	phase  *phaseRun // in which it was started
	port   int
	number int // of its log

	pauses     backoff.BackOff    // before it is started again
	cancel     context.CancelFunc // ends the goroutines
	goroutines int                // that have not reported their end
	begun      time.Time
	ready      bool
	stopping   bool
	result     Result         // of its process
	problem    *state.Failure // why it has ended, or is to end
	waiting    []func(*state.Failure)
}

// portOf returns the port of a service, 0 if it does not run.
func (ss *services) portOf(name string) int {
	if run := ss.runs[name]; run != nil {
		return run.port
	}
	return 0
}

// areReady reports whether services are ready.
func (ss *services) areReady(names []string) bool {
	for _, name := range names {
		if run := ss.runs[name]; run == nil || !run.ready {
			return false
		}
	}
	return true
}

// waitedFor reports whether something waits for a service, so that the loop must not end.
func (ss *services) waitedFor() bool {
	for _, run := range ss.runs {
		if len(run.waiting) > 0 {
			return true
		}
	}
	return false
}

// underWay reports whether services run or are being started again.
func (ss *services) underWay(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return ss.runs[name] == nil })
}

// start starts services, one after the other, and calls then when all are ready, or with the
// failure of one that is not.
func (ss *services) start(names []string, then func(*state.Failure)) {
	if len(names) == 0 || ss.loop.tasksCancelled() { // then the caller starts nothing
		then(nil)
		return
	}
	ss.startOne(names[0], func(f *state.Failure) {
		if f != nil {
			then(f)
			return
		}
		ss.start(names[1:], then)
	})
}

func (ss *services) startOne(name string, then func(*state.Failure)) {
	run := ss.runs[name]
	switch {
	case run == nil:
		service := ss.loop.pipeline.Service(name)
		run = &serviceRun{Service: service, loop: ss.loop, phase: ss.loop.phase, pauses: retryPauses(service.Restart), waiting: []func(*state.Failure){then}}
		ss.runs[name] = run
		ss.start(run.Needs, func(f *state.Failure) {
			switch {
			case ss.runs[name] != run: // it was stopped meanwhile
			case f != nil || ss.loop.tasksCancelled():
				run.end(f)
			default:
				run.resolveThenLaunch()
			}
		})
	case run.ready:
		then(nil)
	default:
		run.waiting = append(run.waiting, then)
	}
}

// resolveThenLaunch starts the process of the service when its secrets are resolved.
func (r *serviceRun) resolveThenLaunch() {
	l := r.loop
	l.withSecrets(r.logName(), gateSlot, r.Secrets(), func(err error) {
		switch {
		case l.services.runs[r.Name] != r: // it was stopped meanwhile
		case err != nil:
			r.end(r.failure(err.Error()))
		case l.tasksCancelled():
			r.end(nil)
		default:
			r.launch()
		}
	})
}

// launch starts the process of the service, and the check whether it is ready.
func (r *serviceRun) launch() {
	l := r.loop
	if r.port == 0 {
		port, err := probe.FreePort(l.ctx)
		if err != nil {
			r.end(r.failure(err.Error()))
			return
		}
		r.port = port
	}
	r.number = l.nextLog(r.logName())
	results := l.results(false, 0)
	inv, diags := r.Invocation(results)
	check, more := r.newCheck(results)
	if diags = append(diags, more...); diags.HasErrors() {
		f := l.failures.expressionFailure("", "", diags)
		r.end(&f)
		return
	}
	task := l.newTask(r.logName(), r.number, inv)
	task.KeepLog = true // the log says that the number is taken
	l.joinTrace(task.Env, inv.Env, r.logName(), r.number)
	task.Env["RUNNER_SERVICE"] = r.Name
	ctx, cancel := context.WithCancel(l.ctx)
	r.cancel, r.begun, r.ready, r.goroutines = cancel, l.opts.Now(), false, 2
	l.recorder.Add(nil, state.ServiceStarted{Service: r.Name, Attempt: r.number, Port: r.port})
	sink := &serviceSink{started: make(chan struct{})}
	go func() {
		result, err := l.execute(ctx, task, sink)
		l.events <- func() { r.processEnded(task, result, err) }
	}()
	go func() {
		err := r.awaitReady(ctx, sink.started, check)
		l.events <- func() { r.checked(err) }
	}()
}

// serviceSink is a Sink that tells when the process has started.
type serviceSink struct{ started chan struct{} }

// Started implements Sink.
func (s *serviceSink) Started(int) { close(s.started) }

func (r *serviceRun) logName() string { return disk.ServiceLog(r.Name) }

// newCheck returns the function that finds out whether the service is ready.
func (r *serviceRun) newCheck(results pipeline.Results) (func(context.Context) error, hcl.Diagnostics) {
	l := r.loop
	if r.Ready == nil {
		return func(context.Context) error { return nil }, nil
	}
	switch r.Ready.Kind {
	case pipeline.ReadyTCP:
		return func(ctx context.Context) error { return probe.TCP(ctx, r.port) }, nil
	case pipeline.ReadyCommand:
		inv, diags := r.ReadyCommand(results)
		task := l.newTask(r.logName()+".ready", r.number, inv)
		return func(ctx context.Context) error { return l.runCheck(ctx, task) }, diags
	case pipeline.ReadyHTTP, pipeline.ReadyLog:
	}
	text, diags := r.ReadyText(results)
	if r.Ready.Kind == pipeline.ReadyHTTP {
		return func(ctx context.Context) error { return probe.HTTP(ctx, text) }, diags
	}
	log := &probe.Log{Path: l.opts.Store.Layout().LogPath(l.pipeline.ID, r.logName(), r.number), Text: text}
	return log.Check, diags
}

// runCheck runs a command that exits with 0 if the service is ready.
func (l *loop) runCheck(ctx context.Context, task Task) error {
	result, err := l.execute(ctx, task, &startSink{})
	if err == nil && !result.Succeeded() {
		err = errors.New(string(l.failures.taskFailure("", "", task, result).Message))
	}
	return err
}

// awaitReady waits until the process of the service has started and the service is ready, for as
// long as the pipeline allows.
func (r *serviceRun) awaitReady(ctx context.Context, started <-chan struct{}, check func(context.Context) error) error {
	select {
	case <-started:
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // the end of the process says more
	}
	if r.Ready == nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, r.Ready.Timeout)
	defer cancel()
	err := probe.Until(within, r.Ready.Interval, check)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("it is not ready after %s: %w", r.Ready.Timeout, err)
	}
	return err
}

// checked takes the result of the check whether the service is ready.
func (r *serviceRun) checked(err error) {
	r.goroutines--
	switch {
	case r.stopping || r.goroutines == 0: // its process has ended, or is about to
	case err != nil:
		r.problem = r.failure(err.Error())
		r.cancel()
	default:
		r.ready = true
		l := r.loop
		l.recorder.Add(nil, state.ServiceReady{Service: r.Name, Attempt: r.number, TookMS: l.opts.Now().Sub(r.begun).Milliseconds()})
		r.release(nil)
		return
	}
	r.finish()
}

// processEnded takes the end of the process. If Runner did not end it, the service is started
// again, or has failed.
func (r *serviceRun) processEnded(task Task, result Result, err error) {
	l := r.loop
	r.goroutines--
	r.cancel()
	r.result = result
	l.recordLeftovers("", result.Leftovers)
	switch {
	case r.stopping || r.problem != nil:
	case err != nil:
		r.problem = r.failure(err.Error())
	default:
		f := l.failures.taskFailure("", "", task, result)
		r.problem = r.failure("it has ended: " + string(f.Message))
		r.problem.File, r.problem.Line, r.problem.Column = f.File, f.Line, f.Column
	}
	r.ready = false
	r.finish()
}

// finish goes on when both goroutines have ended: it records the end of the process, and starts
// the service again if its restart block says so.
func (r *serviceRun) finish() {
	l := r.loop
	if r.goroutines > 0 {
		return
	}
	l.recorder.Add(nil, state.ServiceEnded{Service: r.Name, Attempt: r.number, Error: r.problem})
	pause := pauseAfter(r.result, r.Restart, r.pauses)
	if r.stopping || pause == backoff.Stop || l.status > stopFailure {
		r.end(r.problem)
		return
	}
	r.problem = nil
	ctx, cancel := context.WithCancel(l.ctx)
	r.cancel, r.goroutines = cancel, 1
	go func() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		l.events <- func() {
			cancel()
			if r.goroutines = 0; r.stopping {
				r.end(nil)
			} else {
				r.launch()
			}
		}
	}()
}

// end removes the service. What waits for it fails, unless f is nil.
func (r *serviceRun) end(f *state.Failure) {
	delete(r.loop.services.runs, r.Name)
	r.release(f)
}

// release calls what waits for the service.
func (r *serviceRun) release(f *state.Failure) {
	waiting := r.waiting
	r.waiting = nil
	for _, then := range waiting {
		then(f)
	}
}

// failure returns the failure of what needs the service.
func (r *serviceRun) failure(message string) *state.Failure {
	return r.loop.serviceFailure(r.Name, r.number, message)
}

// endedSince returns the failure of a process that could not start, because a service that it
// needs was ready and has ended since.
func (ss *services) endedSince(names []string) state.Failure {
	name := names[slices.IndexFunc(names, func(name string) bool { return ss.runs[name] == nil })]
	number := 0
	for _, s := range ss.loop.session.State().Services {
		if s.Name == name {
			number = s.Attempt
		}
	}
	return *ss.loop.serviceFailure(name, number, "it was ready, and has ended since")
}

// serviceFailure returns the failure of what needs a service. number is that of the service's
// log, 0 if there is none.
func (l *loop) serviceFailure(name string, number int, message string) *state.Failure {
	f := &state.Failure{Outcome: state.OutcomeService, Message: state.Text(shorten(l.opts.Mask("the service " + name + ": " + message)))}
	if number > 0 {
		f.Log = state.Text(filepath.Base(l.opts.Store.Layout().LogPath(l.pipeline.ID, disk.ServiceLog(name), number)))
	}
	return f
}

// stop ends services, and returns when their processes have ended: first those that need others,
// which come later in the file.
func (ss *services) stop(which func(*serviceRun) bool) {
	for _, service := range slices.Backward(ss.loop.pipeline.Services) {
		run := ss.runs[service.Name]
		if run == nil || !which(run) {
			continue
		}
		run.stop()
		for ss.runs[run.Name] == run {
			ss.loop.handleNextEvent(nil)
		}
	}
}

// stopAll ends all services.
func (ss *services) stopAll() { ss.stop(func(*serviceRun) bool { return true }) }

// stopPhase ends the services that run until the end of a phase.
func (ss *services) stopPhase(phase *phaseRun) {
	ss.stop(func(r *serviceRun) bool { return r.Scope == pipeline.ServicePhase && r.phase == phase })
}

// releaseAll tells what waits for services that the run is stopping.
func (ss *services) releaseAll() {
	for _, run := range slices.Collect(maps.Values(ss.runs)) {
		run.release(nil)
	}
}

// stop ends the process of the service: by its stop command, if it has one, and then by a
// signal.
func (r *serviceRun) stop() {
	if r.stopping {
		return
	}
	l := r.loop
	r.stopping = true
	switch {
	case r.cancel == nil: // it waits for another service
		r.end(nil)
		return
	case !r.ready || !r.HasStop() || l.atOnce:
		r.cancel()
		return
	}
	inv, _, diags := r.Stop(l.results(false, 0))
	if diags.HasErrors() {
		l.warnUser(string(l.failures.expressionFailure("", "", diags).Message))
		r.cancel()
		return
	}
	task := l.newTask(r.logName()+".stop", r.number, inv)
	task.Timeout = cmp.Or(l.opts.Grace, time.Second)
	r.goroutines++
	go func() {
		err := l.runCheck(l.grace, task)
		l.events <- func() {
			r.goroutines--
			if err != nil {
				l.warnUser(l.opts.Mask(fmt.Sprintf("the stop command of the service %s failed: %v", r.Name, err)))
			}
			r.cancel()
			r.finish()
		}
	}()
}

// awaitServices reports whether the services of the workstream are ready. If not, it starts
// them, and the workstream begins anew with its attempt when they are.
func (n *node) awaitServices() bool {
	l := n.loop
	if l.services.areReady(n.ws.Services) {
		return true
	}
	fail := func(f state.Failure) {
		f.Workstream = n.ws.Name
		n.recordFailure(f)
	}
	if n.awaited && !l.services.underWay(n.ws.Services) {
		fail(l.services.endedSince(n.ws.Services))
		return false
	}
	n.awaited = true
	l.services.start(n.ws.Services, func(f *state.Failure) {
		switch {
		case !n.mayStart():
			n.giveUpStart()
		case f != nil:
			fail(*f)
		default:
			l.slots.Add(n.newJob(n.startAttempt))
		}
	})
	return false
}

// withServices calls judge when the services of a gate are ready.
func (g *gateRun) withServices(judge func()) {
	l := g.loop
	if l.services.areReady(g.Services) {
		judge()
		return
	}
	l.services.start(g.Services, func(f *state.Failure) {
		switch {
		case l.tasksCancelled():
			g.onEnd(false)
		case f != nil:
			g.failUnjudged(*f)
		case l.services.underWay(g.Services):
			l.slots.Urgent(func() { g.withServices(judge) })
		default:
			g.failUnjudged(l.services.endedSince(g.Services))
		}
	})
}
