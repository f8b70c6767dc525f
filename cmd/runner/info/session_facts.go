package info

import (
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// Fact is a name and its value.
type Fact struct {
	Name, Value string
	Style       view.Style
}

// factList collects facts. Those without a value are left out.
type factList []Fact

func (l *factList) add(name, value string) { l.addIn(view.None, name, value) }

func (l *factList) addIn(style view.Style, name, value string) {
	if value != "" {
		*l = append(*l, Fact{name, value, style})
	}
}

// FactsOptions says how facts are told.
type FactsOptions struct {
	Now      time.Time
	Failures int  // how many are named, all for -1; the others are counted; 0: failures are left out
	Lasting  bool // the facts are read later, too: they say when something was, and not how long ago
}

// when returns a time, and how long ago it was.
func (o FactsOptions) when(t time.Time) string {
	if o.Lasting {
		return t.UTC().Format(time.DateTime)
	}
	return When(o.Now, t)
}

// Facts returns what is to be known of the session besides its status and its workstreams.
func (s SessionStatus) Facts(cmdline advice.CommandLine, o FactsOptions) []Fact {
	var l factList
	s.addSession(&l, o)
	s.addRunning(&l, o)
	s.addStopped(&l, cmdline, o.Failures)
	s.addLedgers(&l)
	if c := s.LastCheckpoint; c != nil {
		made := view.Ago(o.Now, c.CreatedAt)
		if o.Lasting {
			made = o.when(c.CreatedAt)
		}
		l.add("Last checkpoint", fmt.Sprintf("%s (%s, %s)", c.ID, c.Trigger, made))
	}
	s.addUnfinished(&l, cmdline)
	return l
}

// addSession adds which session it is, and how far it has come.
func (s SessionStatus) addSession(l *factList, o FactsOptions) {
	if s.Session == "" {
		return
	}
	l.add("Session", fmt.Sprintf("%s, begun %s", state.ShortSession(s.Session), o.when(s.CreatedAt)))
	if from := s.BeganFrom; from != nil {
		l.add("Begun from", fmt.Sprintf("session %s, complete since %s", state.ShortSession(from.Session), o.when(from.At)))
	}
	l.add("Phase", s.currentPhase())
	l.add("Done", s.Counts.String())
}

// addRunning adds who runs the session, and what runs.
func (s SessionStatus) addRunning(l *factList, o FactsOptions) {
	if s.Owner != nil {
		l.add("Runner", fmt.Sprintf("pid %d on %s, since %s", s.Owner.PID, s.Owner.Host, o.when(s.Owner.Since)))
	}
	if s.Owner != nil && s.Owner.Stopped {
		l.addIn(view.Yellow, "Stopped", fmt.Sprintf("nothing goes on until `fg` in its terminal, or `kill -CONT %d`", s.Owner.PID))
	}
	if s.Killed {
		l.add("Runner", view.WasKilled)
	}
	if r := s.Requested; r != nil {
		l.addIn(view.Yellow, "Pausing", describeRequest(r))
	}
	if len(s.Alive) > 0 {
		alive := make([]string, len(s.Alive))
		for i, p := range s.Alive {
			alive[i] = p.String()
		}
		l.add("Still running", strings.Join(alive, ", ")+": the next command that changes the session ends it first")
	}
	running := make([]string, len(s.Running))
	for i, r := range s.Running {
		running[i] = r.Name
		if r.Since != nil && s.Owner != nil {
			running[i] += " for " + view.Duration(o.Now.Sub(*r.Since).Truncate(time.Second))
		}
	}
	l.add("Running", strings.Join(running, ", "))
	retrying := make([]string, len(s.Retrying))
	for i, r := range s.Retrying {
		retrying[i] = r.describe(o.Now)
	}
	l.addIn(view.Yellow, "To be retried", strings.Join(retrying, "; "))
	for _, service := range s.Services {
		if service.Running && s.Owner != nil {
			l.add("Service", describeService(service))
		}
	}
}

// addStopped adds what failed, and why the session waits.
func (s SessionStatus) addStopped(l *factList, cmdline advice.CommandLine, failures int) {
	if failures != 0 {
		for _, failure := range s.failureLines(cmdline, failures) {
			l.addIn(view.Red, "Error", failure)
		}
	}
	for _, f := range state.AllowedFailures(s.Phases) {
		l.addIn(view.Yellow, "Failed, allowed", view.Summary(f))
	}
	if s.Pause != nil {
		l.addIn(view.Yellow, "Paused", view.Waits(*s.Pause))
	}
	if s.Interrupted != "" {
		l.addIn(view.Yellow, "Interrupted", "by "+s.Interrupted)
	}
	l.add("Last gate", s.LastGate)
}

// addLedgers adds the issue, the review, the agents, what was spent, and what workstreams reported.
func (s SessionStatus) addLedgers(l *factList) {
	if s.Issue != nil {
		l.add("Issue", describeIssue(s.Issue))
	}
	if s.Review != nil {
		l.add("Review", s.Review.Describe())
	}
	for _, member := range MemberLines(s.Team) {
		l.add("Agent", member)
	}
	l.add("Spent", s.Spent.String())
	for _, p := range s.Phases {
		if by := p.Spent.String(); by != "" && len(s.Phases) > 1 {
			l.add("Spent in "+p.Name, by)
		}
	}
	for _, matter := range openMatters(&s.Ledgers) {
		l.add("Reported", matter)
	}
}

// addUnfinished adds what was begun and not finished, and what other commands have left.
func (s SessionStatus) addUnfinished(l *factList, cmdline advice.CommandLine) {
	if p := s.Import; p != nil {
		l.add("Import", InterruptedImport(cmdline, p))
	}
	if r := s.Rollback; r != nil {
		l.addIn(view.Yellow, "Rollback", InterruptedRollback(r))
	}
	for _, p := range s.Protections {
		switch {
		case p.RollbackDue:
			l.add("Rollback due", fmt.Sprintf("%s to %s; the next command that changes the session does it first", p.Workstream, p.Checkpoint))
		case !p.RolledBack:
			l.add("Protected", fmt.Sprintf("%s by %s, until its gates have passed", p.Workstream, p.Checkpoint))
		}
	}
	for _, t := range s.TakenBack {
		stale := fmt.Sprintf("the rollback of %s on %s took back %s of this session: %s",
			t.PRD, t.At.UTC().Format(time.DateTime), view.Plural(len(t.Files), "artifact"), SomeFiles(t.Files))
		if t.Safety != "" {
			stale += "; `" + cmdline.Command("checkpoint rollback "+t.PRD+" "+t.Safety) + "` puts them back"
		}
		l.addIn(view.Yellow, "Stale", stale)
	}
	if f := s.Finishes; f != nil {
		l.add("Refused", string(f.Refused))
		l.add("Edited since", editedSummary(f.Edited))
	}
	if h := s.Hooks; h != nil {
		l.add("Hooks", PendingHooks(h)+" did not end; the next build runs them again")
	}
	if s.TornBytes > 0 {
		l.add("Journal", fmt.Sprintf("its last %d bytes are an unfinished write; the next build moves them to a file of their own", s.TornBytes))
	}
	l.add("Rescue copy", string(s.RescuePath))
}

// describeRequest says who asked for a pause, and when it comes.
func describeRequest(r *state.PauseAsked) string {
	asked := "asked"
	if r.By.User != "" {
		asked += " by " + r.By.User
	}
	asked += ", at the next boundary"
	if r.Reason != "" {
		asked += ": " + string(r.Reason)
	}
	return asked
}
