package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/docs"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/page"
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
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.fail(w, absent("there is no such page")) })
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

// ofPRD returns a handler that lets only requests through that name a PRD. The names in an address become arguments of commands,
// so none of them may be a flag.
func (s *server) ofPRD(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		prd, env := r.PathValue("prd"), s.environment(io.Discard)
		cfg, err := env.LoadConfig()
		if err == nil {
			err = load.CheckPRD(env, cfg, prd)
		}
		for _, name := range []string{prd, r.PathValue("step"), r.PathValue("checkpoint"), r.URL.Query().Get("from")} {
			if err == nil && strings.HasPrefix(name, "-") {
				err = absent("there is nothing named " + name)
			}
		}
		if err != nil {
			s.fail(w, err)
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
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// absent says that there is nothing of a name.
type absent string

// Error implements error.
func (a absent) Error() string { return string(a) }

// fail shows an error as a page.
func (s *server) fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.As(err, new(absent)) || s.commands.ExitCode(err) == exitNotFound {
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = s.pages.Printed(w, page.Printed{Title: "This can't be shown", Text: s.env.Localize(err.Error()), Failed: true})
}

func (s *server) home(w http.ResponseWriter, r *http.Request) {
	s.respond(w, r, func(to io.Writer) error {
		list, unbegun, err := s.sessions(r.Context())
		if err != nil {
			return err
		}
		return s.pages.Home(to, list, unbegun)
	})
}

// sessions returns the statuses of all sessions, and the PRDs that have only a pipeline.
func (s *server) sessions(ctx context.Context) (list []info.SessionStatus, unbegun []string, err error) {
	env := s.environment(io.Discard)
	cfg, err := env.LoadConfig()
	if err != nil {
		return nil, nil, err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{})
	if err != nil {
		return nil, nil, err
	}
	list, _, err = inspect.Statuses(ctx, env, store)
	unbegun = slices.DeleteFunc(load.KnownPRDs(env, cfg), func(prd string) bool {
		return slices.ContainsFunc(list, func(st info.SessionStatus) bool { return st.PRD == prd })
	})
	return list, unbegun, err
}

// parts returns the parts of the page of a PRD, or of the list of all for "", and whether a run is on.
func (s *server) parts(ctx context.Context, prd string) (parts []page.Part, running bool, err error) {
	if prd == "" {
		list, unbegun, err := s.sessions(ctx)
		if err != nil {
			return nil, false, err
		}
		parts, err = s.pages.HomeParts(list, unbegun)
		return parts, slices.ContainsFunc(list, func(st info.SessionStatus) bool { return st.Owner != nil }), err
	}
	o, err := inspect.Overview(ctx, s.environment(io.Discard), prd)
	if err != nil {
		return nil, false, err
	}
	parts, err = s.pages.Parts(o, s.guard.secret)
	return parts, o.Status.Owner != nil, err
}

// journalOf returns the path of the journal of a PRD; "": it is not known, or there is no PRD.
func (s *server) journalOf(prd string) string {
	env := s.environment(io.Discard)
	cfg, err := env.LoadConfig()
	if err != nil || prd == "" {
		return ""
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: prd})
	if err != nil {
		return ""
	}
	return store.Layout().JournalPath(prd)
}

// isUnbegun reports whether a PRD has a pipeline and no session.
func (s *server) isUnbegun(prd string) bool {
	env := s.environment(io.Discard)
	cfg, err := env.LoadConfig()
	if err != nil || !slices.Contains(load.KnownPRDs(env, cfg), prd) {
		return false
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: prd})
	if err != nil {
		return false
	}
	_, err = store.Load(prd)
	return errors.Is(err, checkpoint.ErrNoSession)
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

// session shows a session. If a PRD has none yet, its plan says what a run would do.
func (s *server) session(w http.ResponseWriter, r *http.Request) {
	if prd := r.PathValue("prd"); s.isUnbegun(prd) {
		http.Redirect(w, r, page.PathOf(prd, "plan"), http.StatusSeeOther)
		return
	}
	s.respond(w, r, func(to io.Writer) error {
		o, err := inspect.Overview(r.Context(), s.environment(io.Discard), r.PathValue("prd"))
		if err != nil {
			return err
		}
		return s.pages.Session(to, o, s.guard.secret, s.guard.takeNotice(r))
	})
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
			return absent("there is no page of the manual " + topic)
		}
		return s.pages.ManualPage(to, text)
	})
}
