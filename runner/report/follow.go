package report

import "time"

const (
	// idleInterval is the time between two looks at a file that has not grown.
	idleInterval = 100 * time.Millisecond
	// busyInterval is the time between two looks at a file that has.
	busyInterval = 10 * time.Millisecond
	// busyLooks is how often a file is looked at in busyInterval after it has grown.
	busyLooks = 100
)

// Follower reads the reports of an attempt from a goroutine of its own.
type Follower struct {
	stop chan struct{}
	done chan struct{}
}

// Follow reads the file until Stop is called. It passes each batch to deliver, which
// returns once the batch is on record, so that a file is not read faster than it can be
// recorded.
func Follow(r *Reader, deliver func(Batch)) *Follower {
	f := &Follower{stop: make(chan struct{}), done: make(chan struct{})}
	go f.run(r, deliver)
	return f
}

// Stop reads the rest of the file, and returns when all of it was delivered. The processes
// that write the file must have ended.
func (f *Follower) Stop() {
	close(f.stop)
	<-f.done
}

func (f *Follower) run(r *Reader, deliver func(Batch)) {
	defer close(f.done)
	defer r.Close()
	timer := time.NewTimer(idleInterval)
	defer timer.Stop()
	for busy := 0; ; busy-- {
		select {
		case <-f.stop:
			readAll(r, true, deliver)
			return
		case <-timer.C:
		}
		if readAll(r, false, deliver) {
			busy = busyLooks
		}
		next := idleInterval
		if busy > 0 {
			next = busyInterval
		}
		timer.Reset(next)
	}
}

// readAll reads to the end of the file, and reports whether it has read anything.
func readAll(r *Reader, last bool, deliver func(Batch)) (read bool) {
	for more := true; more; {
		var b Batch
		if b, more = r.Read(last); !b.IsEmpty() {
			read = true
			deliver(b)
		}
	}
	return read
}
