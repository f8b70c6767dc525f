package approval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// Guide shows at the prompt of a build what a gate judges. It implements view.Guide.
type Guide struct {
	Reader // without the state, which changes while the build runs

	PRD  string
	Mask func(string) string // removes sensitive values
}

// Facts implements view.Guide.
func (g Guide) Facts(ctx context.Context, q runner.Question) view.Painted {
	return g.show(q, func(r Reader, gate *state.Gate, w io.Writer) error {
		return show.JudgedFacts(w, r.Find(ctx, gate)[0])
	})
}

// Difference implements view.Guide.
func (g Guide) Difference(ctx context.Context, q runner.Question) view.Painted {
	return g.show(q, func(r Reader, gate *state.Gate, w io.Writer) error {
		c, files := r.survey(ctx, true).files(gate)
		if c == nil {
			return show.JudgedFacts(w, info.NewJudged(r.State, gate, files))
		}
		return show.JudgedDifference(w, c, files, g.Env.Rows(g.Env.Stderr)-1) // one row is for the question
	})
}

// Details implements view.Guide.
func (g Guide) Details(ctx context.Context, q runner.Question) view.Painted {
	return g.show(q, func(r Reader, gate *state.Gate, w io.Writer) error {
		return show.JudgedDetails(w, g.Env.CommandLine, r.State, gate, r.Find(ctx, gate)[0], show.JudgedDetailsOptions{Now: g.Env.Now(), HasLog: r.hasLog})
	})
}

// Later implements view.Guide.
func (g Guide) Later(q runner.Question) string {
	return g.Env.Command(info.ApproveCommand(g.PRD, q.Gate, q.Inputs))
}

// show returns what is shown of the gate that asks, as the session has it on record.
func (g Guide) show(q runner.Question, write func(Reader, *state.Gate, io.Writer) error) view.Painted {
	snap, err := g.Store.Load(g.PRD)
	var gate *state.Gate
	if err == nil && snap.State != nil {
		gate = snap.State.Gate(q.Gate)
	}
	if err == nil && gate == nil {
		err = errors.New("it is not on record")
	}
	var text bytes.Buffer
	screen := show.NewScreen(&text)
	screen.Color, screen.Columns = g.Env.Color(g.Env.Stderr), g.Env.Stderr.Columns
	if err == nil {
		r := g.Reader
		r.State = snap.State
		err = write(r, gate, screen)
	}
	if err != nil {
		text.Reset()
		fmt.Fprintf(screen, "  What %s judges can't be read: %v\n", view.OneLine(q.Gate), err)
	}
	return view.Painted(g.Mask(text.String()))
}

// hasLog reports whether there is a log of the last attempt at a workstream or a gate.
func (r Reader) hasLog(name string) bool {
	log, attempts := disk.GateLog(name), 0
	if g := r.State.Gate(name); g != nil {
		attempts = g.Attempts
	} else if w := r.State.Workstream(name); w != nil {
		log, attempts = name, w.Attempts
	}
	info, err := os.Stat(r.Store.Layout().LogPath(r.State.PRD, log, attempts))
	return err == nil && info.Size() > 0
}
