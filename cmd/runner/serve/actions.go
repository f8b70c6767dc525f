package serve

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/page"
)

// mostForm bounds the size of a form.
const mostForm = 256 << 10

// command is a command that a form asks for.
type command struct {
	words []string // its name and its arguments
	flags []string
	// refused says why the command must not run, "" if it may, and links lead on from there.
	refused string
	links   []page.Link
	back    string // where the browser goes afterwards; "": to the page of the PRD
}

// actions adds the requests that change something.
func (s *server) actions(mux *http.ServeMux) {
	checkpoint := func(verb string) http.HandlerFunc {
		return s.action(func(r *http.Request) command {
			c := checkpointCommand(r, verb)
			c.back = page.PathOf(r.PathValue("prd"), "checkpoint", r.PostFormValue("checkpoint"))
			return c
		})
	}
	mux.HandleFunc("POST /prd/{prd}/answer", s.action(s.answer))
	mux.HandleFunc("POST /prd/{prd}/pause", s.action(func(r *http.Request) command { return command{words: []string{"pause", r.PathValue("prd")}} }))
	mux.HandleFunc("POST /prd/{prd}/pin", checkpoint("pin"))
	mux.HandleFunc("POST /prd/{prd}/unpin", checkpoint("unpin"))
	mux.HandleFunc("POST /prd/{prd}/rollback", s.action(s.rollback))
}

// checkpointCommand returns a command that changes the checkpoint of a form.
func checkpointCommand(r *http.Request, verb string, flags ...string) command {
	return command{words: []string{"checkpoint", verb, r.PathValue("prd"), r.PostFormValue("checkpoint")}, flags: flags}
}

// rollback returns the command that rolls back, unless it would do something else than the form's page has shown.
func (s *server) rollback(r *http.Request) command {
	c := checkpointCommand(r, "rollback", "--yes")
	if c.incomplete() {
		return c
	}
	prd, checkpoint := r.PathValue("prd"), r.PostFormValue("checkpoint")
	now, refused := s.preview(r.Context(), prd, checkpoint)
	switch {
	case refused != "":
		c.refused = refused
	case r.PostFormValue("preview") != now:
		c.refused = "The session or its files have changed since the preview, and a rollback would do something else now. Nothing was rolled back."
		c.links = []page.Link{{Path: page.PathOf(prd, "checkpoint", checkpoint, "rollback"), Text: "Preview of the rollback as it would be now"}}
	}
	return c
}

// incomplete reports whether a form lacks an argument of its command, or has a flag in its place.
func (c command) incomplete() bool {
	return slices.ContainsFunc(c.words, func(word string) bool { return word == "" || word[0] == '-' })
}

// action returns a handler that runs the command that a form asks for.
func (s *server) action(of func(r *http.Request) command) http.HandlerFunc {
	return s.ofPRD(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if large := (*http.MaxBytesError)(nil); errors.As(r.ParseForm(), &large) {
			http.Error(w, "This text is too long: a form has at most 256 KiB. Go back and shorten it.", http.StatusRequestEntityTooLarge)
			return
		}
		if !s.guard.isForm(r) {
			http.Error(w, "This form is out of date: go back and reload the page.", http.StatusForbidden)
			return
		}
		c := of(r)
		if c.incomplete() {
			http.Error(w, "This form lacks something.", http.StatusBadRequest)
			return
		}
		line := slices.Concat(c.words, c.flags)
		if message := strings.TrimSpace(r.PostFormValue("message")); message != "" {
			line = append(line, "-m="+message)
		}
		prd, refusal := r.PathValue("prd"), c.refused
		if refusal == "" {
			printed, code := s.run(s.ctx, line...) // a tab that is closed ends no change
			if code == 0 {
				s.guard.setNotice(r, printed)
				http.Redirect(w, r, cmp.Or(c.back, page.PathOf(prd)), http.StatusSeeOther)
				return
			}
			refusal = printed
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusConflict)
		_ = s.pages.Printed(w, page.Printed{PRD: prd, Title: "That was refused", Command: s.commandLine(line), Text: refusal, Failed: true, Links: c.links})
	})
}

// answer returns the command that answers a gate, unless the gate asks something else now than the form's page has shown.
func (s *server) answer(r *http.Request) command {
	verb, prd, gate := r.PostFormValue("verb"), r.PathValue("prd"), r.PostFormValue("gate")
	if verb != "approve" && verb != "reject" {
		verb = ""
	}
	c := command{words: []string{verb, prd, gate}}
	status, _, err := inspect.Status(r.Context(), s.environment(io.Discard), prd)
	if err != nil { // then nobody can tell what the gate asks
		c.refused = s.env.Localize(err.Error())
	}
	required := map[string]bool{} // the inputs without a default
	for _, q := range status.Waiting {
		if q.Gate != gate {
			continue
		}
		for _, in := range q.Inputs {
			required[in.Name] = in.Default == nil
		}
		if q.Digest() != r.PostFormValue("asked") {
			c.refused = gate + " asks anew since this page was made, perhaps about other work. Nothing was answered."
			c.links = []page.Link{{Path: page.PathOf(prd) + "#waiting", Text: "What it asks now"}}
		}
	}
	for name, values := range r.PostForm {
		in, is := strings.CutPrefix(name, "input:")
		if is && (values[0] != "" || !required[in]) { // what was left empty and has no default is not given
			c.flags = append(c.flags, "--input="+in+"="+values[0])
		}
	}
	slices.Sort(c.flags)
	return c
}
