package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// runAt runs a command in this process with the clock at now. The command must exit with
// the code want. runAt returns the output.
func (p *place) runAt(now time.Time, want int, args ...string) string {
	p.t.Helper()
	var out bytes.Buffer
	env := cli.ThisProcess()
	env.Args, env.Environ, env.Now = append([]string{"-C", p.ws}, args...), p.environ, func() time.Time { return now }
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), show.NewScreen(&out), show.NewScreen(&out)
	if code := execute(context.Background(), env); code != want {
		p.t.Fatalf("at %s: runner %s: exit code %d instead of %d\n%s", now, strings.Join(args, " "), code, want, &out)
	}
	return out.String()
}

// jumps returns, by name, how far the clock moves between two commands: because the clock
// was set, or because the machine was down.
func jumps() map[string]time.Duration {
	const day = 24 * time.Hour
	return map[string]time.Duration{"a day back": -day, "none": 0, "ten hours on": 10 * time.Hour, "ten years on": 3650 * day, "ten years back": -3650 * day}
}

// TestTimeThatARunnerWasDownCountsNowhere kills a build, and moves the clock before each
// of the next commands. The timeouts of the session, of a workstream and of an approval
// must not expire while no runner runs. Airflow timed out tasks that it had not started
// (apache/airflow 13853).
func TestTimeThatARunnerWasDownCountsNowhere(t *testing.T) {
	t.Parallel()
	const pipeline = `
pipeline "PRD-001" {
  timeout = "1h"
  phase "one" {
    workstream "mend" {
      timeout = "1h"
      script  = "if test -e hold; then exec sleep 600; fi; test -e ok"
    }
    gate "sign-off" {
      approval {
        message = "Ship it?"
        timeout = "1h"
      }
    }
  }
}
`
	for name, down := range jumps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("PRD-001.hcl", pipeline)
			p.killed()
			now := time.Now().Add(down)
			p.runAt(now, 0, "checkpoint", "create", "PRD-001") // events after the kill must not count as a part of the killed run
			now = now.Add(down)
			p.runAt(now, 1, "build", "PRD-001", "--resume")
			p.write("ok", "")
			now = now.Add(down)
			p.runAt(now, 3, "build", "PRD-001", "--resume")
			now = now.Add(down)
			if text := p.runAt(now, 3, "build", "PRD-001", "--resume"); !strings.Contains(text, "waiting for an approval of sign-off (one)") {
				t.Errorf("the build does not ask for the approval again:\n%s", text)
			}
			p.runAt(now, 0, "approve", "PRD-001")
			p.runAt(now.Add(down), 0, "build", "PRD-001", "--resume")
			for _, kind := range eventsOf(p) {
				if kind == "gate.failed" {
					t.Error("the approval gate failed")
				}
			}
		})
	}
}

// TestAClockThatJumpsOrdersAndRemovesNothing moves the clock between checkpoints and then
// prunes. The list of checkpoints and latest~1 must follow the order of commits, not of
// times, and prune must not remove the new checkpoints.
func TestAClockThatJumpsOrdersAndRemovesNothing(t *testing.T) {
	t.Parallel()
	for name, jump := range jumps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepared(t, func(*place) {})
			now := time.Now()
			p.runAt(now, 1, "build", "PRD-001")
			var seen []string
			for n := range 3 {
				now = now.Add(jump)
				p.write("notes.txt", fmt.Sprint("notes ", n))
				p.runAt(now, 0, "checkpoint", "create", "PRD-001")
				seen = append(seen, p.wholeList(now)[len(p.wholeList(now))-1].ID)
			}
			now = now.Add(jump)
			p.runAt(now, 0, "checkpoint", "prune", "--yes")
			list := p.wholeList(now)
			for i, c := range list[1:] {
				if c.Seq < list[i].Seq {
					t.Errorf("%s of commit %d comes after %s of %d", c.ID, c.Seq, list[i].ID, list[i].Seq)
				}
			}
			for i, id := range seen {
				if at := list[len(list)-len(seen)+i]; at.ID != id || !at.Valid {
					t.Errorf("checkpoint %d is %+v, want %s", i, at, id)
				}
			}
			p.runAt(now, 0, "checkpoint", "rollback", "PRD-001", "latest~1", "--yes")
			if got := p.read("notes.txt"); got != "notes 1" {
				t.Errorf("after the rollback to latest~1, notes.txt is %q", got)
			}
			p.write("ok", "")
			now = now.Add(jump)
			p.runAt(now, 3, "build", "PRD-001", "--resume")
			p.runAt(now, 0, "status", "PRD-001")
			p.runAt(now, 0, "checkpoint", "validate", "PRD-001", "--deep")
		})
	}
}

// listed is a checkpoint in the JSON output of checkpoint list.
type listed struct {
	ID    string `json:"id"`
	Seq   uint64 `json:"seq"`
	Valid bool   `json:"valid"`
}

// wholeList returns the checkpoints of the session in the order of checkpoint list.
func (p *place) wholeList(now time.Time) []listed {
	p.t.Helper()
	var list struct {
		Checkpoints []listed `json:"checkpoints"`
	}
	if err := json.Unmarshal([]byte(p.runAt(now, 0, "checkpoint", "list", "PRD-001", "--json")), &list); err != nil || len(list.Checkpoints) == 0 {
		p.t.Fatalf("%v: %v", list, err)
	}
	return list.Checkpoints
}
