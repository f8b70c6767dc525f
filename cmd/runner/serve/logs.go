package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"prdrunner/cmd/runner/page"
)

// follow sends the end of the log of a step and what is added to it, until the run ends or the page is closed. It begins
// with lines that the page has already: those between the page and what follows it would be missing otherwise.
func (s *server) follow(w http.ResponseWriter, r *http.Request) {
	to := newStream(w)
	if !to.begin() {
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	var beats sync.WaitGroup
	beats.Go(func() { to.keepAlive(ctx, stop) })
	s.commands.Run(ctx, &sentLog{to: to, stop: stop}, "logs", r.PathValue("prd"), r.PathValue("step"), "-f", "--tail", tailLines)
	stop()
	beats.Wait()
	_ = to.send("end", "-", "")
}

// sentLog sends what is written to it to a browser.
type sentLog struct {
	to      *stream
	stop    func() // called when the browser takes nothing any more
	painter page.Painter
}

// Write implements io.Writer.
func (l *sentLog) Write(b []byte) (int, error) {
	html, err := json.Marshal(l.painter.Paint(string(b)))
	if err == nil && !l.to.send("text", string(html), "") {
		l.stop()
	}
	return len(b), err
}
