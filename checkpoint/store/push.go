package store

import "io"

// pushAfter is how much is written before the disk is made to begin with it.
const pushAfter = 32 << 20

// Pusher writes to a file, and has the disk take in what is long while the rest
// of it is written: else all of that is left to the sync at the end, and the disk
// has nothing to do before. It belongs to one goroutine.
//
// Wait must be called when no more is written, also after an error. What was
// written is durable when the file is synced after that, and Wait returned nil:
// the system tells of a sync that failed only once.
type Pusher struct {
	file  writeSyncer
	since int        // bytes that were written since the last sync began
	busy  chan error // has the result of that one; nil: none is under way
	err   error      // of a sync, is final
}

type writeSyncer interface {
	io.Writer
	Sync() error
}

// NewPusher returns a Pusher that writes to a file.
func NewPusher(file writeSyncer) *Pusher { return &Pusher{file: file} }

func (p *Pusher) Write(data []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.file.Write(data)
	if p.since += n; p.since < pushAfter || err != nil {
		return n, err
	}
	select {
	case p.err = <-p.busy:
		p.busy = nil
	default:
	}
	if p.busy == nil && p.err == nil {
		done := make(chan error, 1)
		p.since, p.busy = 0, done
		go func() { done <- p.file.Sync() }()
	}
	return n, p.err
}

// Wait waits for the sync that is under way, and returns the error of any.
func (p *Pusher) Wait() error {
	if p.busy != nil {
		p.err, p.busy = <-p.busy, nil
	}
	return p.err
}
