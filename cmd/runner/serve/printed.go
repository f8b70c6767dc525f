package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/page"
	"prdrunner/runner/view"
)

// printed shows what a command prints, on a page that with makes. If the address names something that the command does not
// find, there is no such page.
func (s *server) printed(w http.ResponseWriter, r *http.Request, with func() page.Printed, args ...string) {
	s.respond(w, r, func(to io.Writer) error {
		p := with()
		printed, code := s.run(r.Context(), args...)
		if r.Context().Err() != nil {
			return r.Context().Err()
		}
		if code == exitNotFound && r.PathValue("checkpoint")+r.PathValue("step")+r.FormValue("from") != "" {
			return absent(printed)
		}
		p.PRD, p.Text, p.Failed, p.Said = r.PathValue("prd"), printed, code != 0, s.guard.takeNotice(r)
		p.Command = s.commandLine(args)
		return s.pages.Printed(to, p)
	})
}

// titled returns a page with a title and links, for printed.
func titled(title string, links ...page.Link) func() page.Printed {
	return func() page.Printed { return page.Printed{Title: title, Links: links} }
}

// tailLines is how many lines of a log a page begins with.
const tailLines = "1000"

func (s *server) step(w http.ResponseWriter, r *http.Request) {
	prd, step := r.PathValue("prd"), r.PathValue("step")
	if attempt := r.FormValue("attempt"); attempt != "" {
		last := page.Link{Path: page.PathOf(prd, "step", step), Text: "The last attempt"}
		s.printed(w, r, titled(step+", attempt "+attempt, last), "logs", prd, step, "--attempt="+attempt, "--tail", tailLines)
		return
	}
	s.respond(w, r, func(to io.Writer) error {
		why, code := s.run(r.Context(), "why", prd, step)
		log, logged := s.run(r.Context(), "logs", prd, step, "--tail", tailLines)
		switch {
		case logged == exitNotFound && code == exitNotFound: // otherwise only the pipeline can't be read
			return absent(log)
		case logged != 0: // there is none
			log = strings.TrimPrefix(view.Clean(log), "Error: ")
		}
		if err := r.Context().Err(); err != nil {
			return err
		}
		links, running := s.attempts(r.Context(), prd, step)
		p := page.Printed{
			PRD: prd, Title: step, Command: s.commandLine([]string{"why", prd, step}), Text: why, Failed: code != 0, Links: links,
			Log: log, LogLines: tailLines, LogCommand: s.commandLine([]string{"logs", prd, step}),
		}
		if running {
			p.Follow = page.PathOf(prd, "step", step, "follow")
		}
		return s.pages.Printed(to, p)
	})
}

// attempts returns links to the logs of the attempts of a workstream before the last one, the newest first. It also reports
// whether a run is on.
func (s *server) attempts(ctx context.Context, prd, step string) (links []page.Link, running bool) {
	const most = 10
	status, _, err := inspect.Status(ctx, s.environment(io.Discard), prd)
	if err != nil {
		return nil, false // the page says what is wrong with the session
	}
	for _, p := range status.Phases {
		for _, w := range p.Workstreams {
			for n := w.Attempts - 1; w.Name == step && n > 0 && len(links) < most; n-- {
				links = append(links, page.Link{Path: page.PathOf(prd, "step", step) + fmt.Sprintf("?attempt=%d", n), Text: fmt.Sprintf("Log of attempt %d", n)})
			}
		}
	}
	return links, status.Owner != nil
}

func (s *server) logs(w http.ResponseWriter, r *http.Request) {
	s.printed(w, r, titled("Logs"), "logs", r.PathValue("prd"), "--tail", "200")
}

func (s *server) plan(w http.ResponseWriter, r *http.Request) {
	s.printed(w, r, titled("Plan of the next resume"), "plan", r.PathValue("prd"), "--resume=auto")
}

func (s *server) history(w http.ResponseWriter, r *http.Request) {
	prd := r.PathValue("prd")
	s.printed(w, r, func() page.Printed {
		p := page.Printed{Title: "History"}
		if past, err := inspect.History(r.Context(), s.environment(io.Discard), prd); err == nil && len(past.Sessions) > 1 {
			p.Links = append(p.Links, page.Link{Path: page.PathOf(prd, "diff"), Text: "Difference between the last two sessions"})
		}
		return p
	}, "history", prd)
}

// sessionDiff compares a session with the latest one: the one before that, or the one that the address names.
func (s *server) sessionDiff(w http.ResponseWriter, r *http.Request) {
	from, title := "latest~1", "Difference between the last two sessions"
	if id := r.FormValue("from"); id != "" {
		from, title = id, "Difference between session "+id+" and the latest"
	}
	s.printed(w, r, titled(title), "diff", r.PathValue("prd"), from, "latest")
}

func (s *server) safety(w http.ResponseWriter, r *http.Request) {
	s.printed(w, r, titled("Safety checkpoints"), "safety", "list")
}
