package serve

import (
	"context"
	"encoding/json"
	"net/http"

	"prdrunner/runner/view"
)

// follow sends what is added to the log of a step, until the run ends or the page is closed.
func (s *server) follow(w http.ResponseWriter, r *http.Request) {
	step, err := named(r, "step")
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	to := newStream(w)
	if !to.begin() {
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	s.stream(ctx, func(text string) {
		if line, err := json.Marshal(view.Clean(text)); err != nil || !to.send("text", string(line), "") {
			stop()
		}
	}, "logs", r.PathValue("prd"), step, "-f", "--tail", "0")
	_ = to.send("end", "", "")
}
