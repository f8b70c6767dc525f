package checkpoint

import "prdrunner/checkpoint/store"

// Ack reports that the commit Seq is durable or, with Err set, that no further commit will
// be.
type Ack struct {
	Seq uint64
	Err error
}

// writer makes lines durable in a goroutine that appends and syncs, and does nothing else.
type writer struct {
	log  store.Log
	jobs chan job
	acks chan Ack
	done chan struct{}

	closed bool
}

type job struct {
	seq  uint64
	line []byte
}

// newWriter starts a writer. At most one line is in flight at a time, so neither side ever
// blocks when it sends to the other.
func newWriter(log store.Log) *writer {
	w := &writer{log: log, jobs: make(chan job, 1), acks: make(chan Ack, 1), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *writer) run() {
	defer close(w.done)
	for j := range w.jobs {
		w.acks <- Ack{Seq: j.seq, Err: w.log.Append(j.line)}
	}
}

func (w *writer) writeLine(seq uint64, line []byte) { w.jobs <- job{seq, line} }

// sendAck sends an Ack, unless the channel already holds one.
func (w *writer) sendAck(a Ack) {
	select {
	case w.acks <- a:
	default:
	}
}

// close ends the goroutine and closes the log. It first waits until the line in flight is
// written, and drops its Ack. Closing a closed writer does nothing: Close also closes a
// session whose archiving failed.
func (w *writer) close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	close(w.jobs)
	select {
	case <-w.acks:
	default:
	}
	<-w.done
	return w.log.Close()
}
