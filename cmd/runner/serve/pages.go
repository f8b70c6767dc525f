package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/docs"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/page"
	"prdrunner/runner/view"
)

// routes returns the handler of all requests.
func (s *server) routes(readOnly bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /events", s.live.serve)
	mux.HandleFunc("GET /static/{name}", s.static)
	mux.HandleFunc("GET /prd/{prd}", s.ofPRD(s.session))
	mux.HandleFunc("GET /prd/{prd}/events", s.ofPRD(s.live.serve))
	mux.HandleFunc("GET /prd/{prd}/step/{step}", s.ofPRD(s.step))
	mux.HandleFunc("GET /prd/{prd}/step/{step}/follow", s.ofPRD(s.follow))
	mux.HandleFunc("GET /prd/{prd}/logs", s.ofPRD(s.logs))
	mux.HandleFunc("GET /prd/{prd}/plan", s.ofPRD(s.plan))
	mux.HandleFunc("GET /prd/{prd}/history", s.ofPRD(s.history))
	mux.HandleFunc("GET /prd/{prd}/diff", s.ofPRD(s.sessionDiff))
	mux.HandleFunc("GET /prd/{prd}/checkpoint/{checkpoint}", s.ofPRD(s.checkpoint))
	mux.HandleFunc("GET /prd/{prd}/checkpoint/{checkpoint}/diff", s.ofPRD(s.difference))
	mux.HandleFunc("GET /prd/{prd}/checkpoint/{checkpoint}/rollback", s.ofPRD(s.previewRollback))
	mux.HandleFunc("GET /safety", s.safety)
	mux.HandleFunc("GET /manual", s.manual)
	mux.HandleFunc("GET /manual/{topic}", s.manual)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, errors.New("there is no such page")) })
	if !readOnly {
		s.actions(mux)
	}
	return mux
}

// reading waits until the request may read sessions, and returns a function to call when it has.
func (s *server) reading(ctx context.Context) (done func(), err error) {
	select {
	case s.busy <- struct{}{}:
		return func() { <-s.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ofPRD returns a handler that lets only requests through that name a PRD: the name becomes an argument of commands.
func (s *server) ofPRD(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		prd, env := r.PathValue("prd"), s.environment(io.Discard)
		cfg, err := env.LoadConfig()
		if err == nil {
			err = load.CheckPRD(env, cfg, prd)
		}
		if err == nil && strings.HasPrefix(prd, "-") {
			err = errors.New("there is no PRD " + prd)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		next(w, r)
	}
}

// respond writes a page, or says why there is none.
func (s *server) respond(w http.ResponseWriter, r *http.Request, write func(w io.Writer) error) {
	done, err := s.reading(r.Context())
	if err != nil {
		return // the browser has gone
	}
	var b bytes.Buffer
	err = write(&b)
	done() // before the browser takes the page, which may be slow
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// fail shows an error as a page.
func (s *server) fail(w http.ResponseWriter, _ *http.Request, err error) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_ = s.pages.Printed(w, page.Printed{Title: "This can't be shown", Text: s.env.Localize(err.Error()), Failed: true})
}

func (s *server) home(w http.ResponseWriter, r *http.Request) {
	s.respond(w, r, func(to io.Writer) error {
		list, err := s.sessions(r.Context())
		if err != nil {
			return err
		}
		return s.pages.Home(to, list)
	})
}

// sessions returns the statuses of all PRDs.
func (s *server) sessions(ctx context.Context) ([]info.SessionStatus, error) {
	env := s.environment(io.Discard)
	cfg, err := env.LoadConfig()
	if err != nil {
		return nil, err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{})
	if err != nil {
		return nil, err
	}
	list, _, err := inspect.Statuses(ctx, env, store)
	return list, err
}

// parts returns the parts of the page of a PRD, or of the list of all for "".
func (s *server) parts(ctx context.Context, prd string) ([]page.Part, error) {
	if prd == "" {
		list, err := s.sessions(ctx)
		if err != nil {
			return nil, err
		}
		return s.pages.HomeParts(list)
	}
	o, err := inspect.Overview(ctx, s.environment(io.Discard), prd)
	if err != nil {
		return nil, err
	}
	return s.pages.Parts(o, s.guard.secret)
}

// environment returns the environment of one request, whose warnings go to w.
func (s *server) environment(w io.Writer) *cli.Environment { return s.env.Aside(w) }

func (s *server) static(w http.ResponseWriter, r *http.Request) {
	data, contentType, ok := page.Static(r.PathValue("name"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "private, max-age=300")
	_, _ = w.Write(data)
}

func (s *server) session(w http.ResponseWriter, r *http.Request) {
	s.respond(w, r, func(to io.Writer) error {
		o, err := inspect.Overview(r.Context(), s.environment(io.Discard), r.PathValue("prd"))
		if err != nil {
			return err
		}
		return s.pages.Session(to, o, s.guard.secret, s.guard.listen(r))
	})
}

// printed shows what a command prints, on a page that with makes.
func (s *server) printed(w http.ResponseWriter, r *http.Request, with func() page.Printed, args ...string) {
	s.respond(w, r, func(to io.Writer) error {
		p := with()
		printed, code := s.run(r.Context(), args...)
		if r.Context().Err() != nil {
			return r.Context().Err()
		}
		if code == notFound {
			return refusal(printed)
		}
		p.PRD, p.Text, p.Failed, p.Said = r.PathValue("prd"), printed, code != 0, s.guard.listen(r)
		p.Command = s.env.Command(strings.Join(shellWords(args), " "))
		return s.pages.Printed(to, p)
	})
}

// titled returns a page with a title and links, for printed.
func titled(title string, links ...page.Link) func() page.Printed {
	return func() page.Printed { return page.Printed{Title: title, Links: links} }
}

// notFound is the exit code of a command that finds no such name.
const notFound = 2

// refusal is what a command printed that did not do what it was asked.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

func shellWords(args []string) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = text.ShellWord(arg)
	}
	return words
}

// named returns an argument from an address. A flag is none.
func named(r *http.Request, key string) (string, error) {
	value := r.PathValue(key)
	if strings.HasPrefix(value, "-") || value == "" {
		return "", errors.New("there is no " + key + " " + value)
	}
	return value, nil
}

// tailLines is how many lines of a log a page begins with.
const tailLines = "1000"

func (s *server) step(w http.ResponseWriter, r *http.Request) {
	prd, step := r.PathValue("prd"), r.PathValue("step")
	if _, err := named(r, "step"); err != nil {
		s.fail(w, r, err)
		return
	}
	if attempt := r.FormValue("attempt"); attempt != "" {
		last := page.Link{Path: page.PathOf(prd, "step", step), Text: "The last attempt"}
		s.printed(w, r, titled(step+", attempt "+attempt, last), "logs", prd, step, "--attempt="+attempt, "--tail", tailLines)
		return
	}
	s.respond(w, r, func(to io.Writer) error {
		why, code := s.run(r.Context(), "why", prd, step)
		if code == notFound {
			return refusal(why)
		}
		log, logged := s.run(r.Context(), "logs", prd, step, "--tail", tailLines)
		if logged != 0 { // there is none
			log = strings.TrimPrefix(view.Clean(log), "Error: ")
		}
		if err := r.Context().Err(); err != nil {
			return err
		}
		return s.pages.Printed(to, page.Printed{
			PRD: prd, Title: step, Command: s.env.Command("why " + prd + " " + text.ShellWord(step)), Text: why + "\n" + log, Failed: code != 0,
			Links: s.attempts(r.Context(), prd, step), Follow: page.PathOf(prd, "step", step, "follow"),
		})
	})
}

// attempts returns links to the logs of the attempts of a workstream before the last one, the newest first.
func (s *server) attempts(ctx context.Context, prd, step string) []page.Link {
	const most = 10
	status, _, err := inspect.Status(ctx, s.environment(io.Discard), prd)
	if err != nil {
		return nil // the page says what is wrong with the session
	}
	var links []page.Link
	for _, p := range status.Phases {
		for _, w := range p.Workstreams {
			for n := w.Attempts - 1; w.Name == step && n > 0 && len(links) < most; n-- {
				links = append(links, page.Link{Path: page.PathOf(prd, "step", step) + fmt.Sprintf("?attempt=%d", n), Text: fmt.Sprintf("Log of attempt %d", n)})
			}
		}
	}
	return links
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

func (s *server) sessionDiff(w http.ResponseWriter, r *http.Request) {
	s.printed(w, r, titled("Difference between the last two sessions"), "diff", r.PathValue("prd"), "latest~1", "latest")
}

func (s *server) safety(w http.ResponseWriter, r *http.Request) {
	s.printed(w, r, titled("Safety checkpoints"), "safety", "list")
}

// manual shows a page of the manual, or the list of all.
func (s *server) manual(w http.ResponseWriter, r *http.Request) {
	s.respond(w, r, func(to io.Writer) error {
		topic := r.PathValue("topic")
		if topic == "" {
			return s.pages.Manual(to)
		}
		text, ok := docs.Find(topic)
		if !ok {
			return fmt.Errorf("there is no page of the manual %q", topic)
		}
		return s.pages.ManualPage(to, text)
	})
}

func (s *server) checkpoint(w http.ResponseWriter, r *http.Request) {
	prd := r.PathValue("prd")
	id, err := named(r, "checkpoint")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.printed(w, r, func() page.Printed {
		pin := page.Form{Action: page.PathOf(prd, "pin"), Secret: s.guard.secret, Button: "Pin", Text: "Reason", Hidden: map[string]string{"checkpoint": id}}
		if s.isPinned(r.Context(), prd, id) {
			pin.Action, pin.Button = page.PathOf(prd, "unpin"), "Unpin"
		}
		return page.Printed{Title: id, Forms: []page.Form{pin}, Links: []page.Link{
			{Path: page.PathOf(prd, "checkpoint", id, "diff"), Text: "Difference to the files now"},
			{Path: page.PathOf(prd, "checkpoint", id, "rollback"), Text: "Preview of a rollback to it"},
		}}
	}, "checkpoint", "show", prd, id)
}

func (s *server) isPinned(ctx context.Context, prd, checkpoint string) bool {
	var shown struct {
		Pinned bool `json:"pinned"`
	}
	printed, _ := s.run(ctx, "checkpoint", "show", prd, checkpoint, "--json")
	return json.Unmarshal([]byte(printed), &shown) == nil && shown.Pinned
}

func (s *server) difference(w http.ResponseWriter, r *http.Request) {
	id, err := named(r, "checkpoint")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.printed(w, r, titled(fmt.Sprintf("Difference between %s and the files now", id)), "checkpoint", "diff", r.PathValue("prd"), id, "workspace", "--files")
}

func (s *server) previewRollback(w http.ResponseWriter, r *http.Request) {
	prd := r.PathValue("prd")
	id, err := named(r, "checkpoint")
	if err != nil {
		s.fail(w, r, err)
		return
	}
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
	does, code := s.run(ctx, "checkpoint", "rollback", prd, checkpoint, "--dry-run", "--json")
	if code != 0 {
		refused, _ = s.run(ctx, "checkpoint", "rollback", prd, checkpoint, "--dry-run")
		return "", refused
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(does))), ""
}
