package serve

import (
	"net/http"
	"slices"
	"strings"

	"prdrunner/cmd/runner/page"
	"prdrunner/runner/view"
)

// mostForm bounds the size of a form.
const mostForm = 256 << 10

// command is a command that a form asks for.
type command struct {
	words []string // its name and its arguments
	flags []string
}

// actions adds the requests that change something.
func (s *server) actions(mux *http.ServeMux) {
	checkpoint := func(verb string, flags ...string) http.HandlerFunc {
		return s.action(func(r *http.Request) command {
			return command{[]string{"checkpoint", verb, r.PathValue("prd"), r.PostFormValue("checkpoint")}, flags}
		})
	}
	mux.HandleFunc("POST /prd/{prd}/answer", s.action(answerOf))
	mux.HandleFunc("POST /prd/{prd}/pause", s.action(func(r *http.Request) command { return command{words: []string{"pause", r.PathValue("prd")}} }))
	mux.HandleFunc("POST /prd/{prd}/pin", checkpoint("pin"))
	mux.HandleFunc("POST /prd/{prd}/unpin", checkpoint("unpin"))
	mux.HandleFunc("POST /prd/{prd}/rollback", checkpoint("rollback", "--yes"))
}

// action returns a handler that runs the command that a form asks for.
func (s *server) action(of func(r *http.Request) command) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if !s.guard.isForm(r) {
			http.Error(w, "This form is out of date: go back and reload the page.", http.StatusForbidden)
			return
		}
		c := of(r)
		if slices.ContainsFunc(c.words, func(word string) bool { return word == "" || word[0] == '-' }) {
			http.Error(w, "This form lacks something.", http.StatusBadRequest)
			return
		}
		line := slices.Concat(c.words, c.flags)
		if message := strings.TrimSpace(r.PostFormValue("message")); message != "" {
			line = append(line, "-m="+message)
		}
		printed, code := s.run(r.Context(), line...)
		prd := r.PathValue("prd")
		if code == 0 {
			s.guard.tell(r, printed)
			http.Redirect(w, r, page.PathOf(prd), http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusConflict)
		_ = s.pages.Printed(w, page.Printed{PRD: prd, Title: "That was refused", Command: s.env.Command(strings.Join(shellWords(line), " ")), Text: view.Clean(printed), Failed: true})
	}
}

// answerOf returns the command that answers a gate.
func answerOf(r *http.Request) command {
	verb := "reject"
	if r.PostFormValue("verb") == "approve" {
		verb = "approve"
	}
	c := command{words: []string{verb, r.PathValue("prd"), r.PostFormValue("gate")}}
	for name, values := range r.PostForm {
		if in, is := strings.CutPrefix(name, "input:"); is {
			c.flags = append(c.flags, "--input="+in+"="+values[0])
		}
	}
	slices.Sort(c.flags)
	return c
}
