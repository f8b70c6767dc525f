package record

import (
	"context"
	"slices"

	"prdrunner/checkpoint/state"
)

// WriteAll makes all events durable and writes the checkpoint files and documents. The
// commits are shown only after that, since a checkpoint exists only when its file does.
func (r *Recorder) WriteAll() {
	r.holding = true
	r.Drain()
	written := r.broken == nil && r.WriteCheckpoints()
	r.holding = false
	held := r.held
	r.held = nil
	for _, c := range held {
		if !written {
			c.Events = slices.DeleteFunc(slices.Clone(c.Events), func(e state.Event) bool {
				created, ok := e.(state.CheckpointCreated)
				return ok && !r.session.Written(created.ID)
			})
		}
		r.showOrHold(c)
	}
}

// showOrHold shows a commit at once. During WriteAll it holds the commit until its
// checkpoint files are written.
func (r *Recorder) showOrHold(c state.Commit) {
	if r.holding {
		r.held = append(r.held, c)
		return
	}
	r.run.Show(c)
}

// WriteDocument writes the PRD document if its interval has passed, and reports whether the
// interval has passed.
func (r *Recorder) WriteDocument() bool {
	if r.broken != nil || !r.session.DocumentDue() {
		return false
	}
	r.Write(Part{Problem: "the document could not be written", Done: "written", Try: func() error { return r.writeDurably(r.session.WriteDocument) }})
	return true
}

// WriteCheckpoints writes the checkpoint files and documents, and reports whether it
// succeeded.
func (r *Recorder) WriteCheckpoints() bool {
	return r.Write(Part{
		Problem: "a checkpoint could not be written", Done: "written",
		Try:    func() error { return r.writeDurably(r.session.WriteDerived) },
		giveUp: r.session.SkipDerived,
	})
}

// writeDurably makes all events durable before it calls write, since derived files must hold
// only durable state.
func (r *Recorder) writeDurably(write func(context.Context) error) error {
	r.Drain()
	if r.broken != nil {
		return r.broken
	}
	return write(r.ctx)
}
