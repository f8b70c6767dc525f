package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/page"
)

func (s *server) checkpoint(w http.ResponseWriter, r *http.Request) {
	prd, id := r.PathValue("prd"), r.PathValue("checkpoint")
	s.printed(w, r, func() page.Printed {
		pin := page.Form{Action: page.PathOf(prd, "pin"), Secret: s.guard.secret, Button: "Pin", Text: "Reason", Hidden: map[string]string{"checkpoint": id}}
		_, st, err := load.State(s.environment(io.Discard), prd)
		if err != nil { // the page says what is wrong with the session
			st = &state.State{}
		}
		if ref := st.Checkpoint(id); ref != nil && ref.Pinned {
			pin.Action, pin.Button, pin.Text = page.PathOf(prd, "unpin"), "Unpin", "" // that takes no reason
		}
		p := page.Printed{Title: id, Forms: []page.Form{pin}, Links: []page.Link{
			{Path: page.PathOf(prd, "checkpoint", id, "diff"), Text: "Difference to the files now"},
			{Path: page.PathOf(prd, "checkpoint", id, "rollback"), Text: "Preview of a rollback to it"},
		}}
		if before := previous(st, id); before != "" {
			link := page.Link{Path: page.PathOf(prd, "checkpoint", id, "diff") + "?" + url.Values{"from": {before}}.Encode(), Text: "What changed since the checkpoint before"}
			p.Links = append([]page.Link{link}, p.Links...)
		}
		return p
	}, "checkpoint", "show", prd, id)
}

// previous returns the id of the checkpoint before another one, "" if there is none.
func previous(st *state.State, id string) string {
	before := ""
	for _, ref := range st.Checkpoints {
		if ref.ID == id {
			return before
		}
		before = ref.ID
	}
	return ""
}

func (s *server) difference(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("checkpoint")
	from, to, title := id, "workspace", "Difference between "+id+" and the files now"
	if before := r.FormValue("from"); before != "" {
		from, to, title = before, id, "Difference between "+before+" and "+id
	}
	s.printed(w, r, titled(title), "checkpoint", "diff", r.PathValue("prd"), from, to, "--files")
}

func (s *server) previewRollback(w http.ResponseWriter, r *http.Request) {
	prd, id := r.PathValue("prd"), r.PathValue("checkpoint")
	s.printed(w, r, func() page.Printed {
		digest, _ := s.preview(r.Context(), prd, id)
		return page.Printed{
			Title: "Rollback to " + id,
			Links: []page.Link{
				{Path: page.PathOf(prd, "checkpoint", id, "diff"), Text: "Difference to the files now"}, {Path: page.PathOf(prd, "checkpoint", id), Text: "The checkpoint"},
			},
			Forms: []page.Form{{
				Action: page.PathOf(prd, "rollback"), Secret: s.guard.secret, Button: "Roll back", Text: "Reason",
				Hidden: map[string]string{"checkpoint": id, "preview": digest},
			}},
		}
	}, "checkpoint", "rollback", prd, id, "--dry-run")
}

// preview returns a digest of all that a rollback would do now, or else why it is refused.
func (s *server) preview(ctx context.Context, prd, checkpoint string) (digest, refused string) {
	does := sha256.New()
	if s.commands.Run(ctx, does, "checkpoint", "rollback", prd, checkpoint, "--dry-run", "--json") != 0 {
		refused, _ = s.run(ctx, "checkpoint", "rollback", prd, checkpoint, "--dry-run")
		return "", refused
	}
	return fmt.Sprintf("%x", does.Sum(nil)), ""
}
