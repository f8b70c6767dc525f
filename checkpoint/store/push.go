package store

import "io"

// syncAfter is the number of bytes after which a Pusher starts a sync.
const syncAfter = 32 << 20

// Pusher writes to a file, and syncs it in the background every 32 MiB. Without it, the
// disk would be idle while a long file is written, and the sync at the end would take long.
// It belongs to one goroutine.
//
// The caller must call Wait after the last write, also after an error. The bytes are
// durable if Wait returned nil and the file is synced after that: the system reports a
// failed sync only once.
type Pusher struct {
	file     writeSyncer
	unsynced int        // bytes written since the last sync began
	running  chan error // receives the result of the running sync; nil if there is none
	err      error      // of the first failed sync
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
	if p.unsynced += n; p.unsynced < syncAfter || err != nil {
		return n, err
	}
	select {
	case p.err = <-p.running:
		p.running = nil
	default:
	}
	if p.running == nil && p.err == nil {
		done := make(chan error, 1)
		p.unsynced, p.running = 0, done
		go func() { done <- p.file.Sync() }()
	}
	return n, p.err
}

// Wait waits for the running sync, and returns the error of the first sync that failed.
func (p *Pusher) Wait() error {
	if p.running != nil {
		p.err, p.running = <-p.running, nil
	}
	return p.err
}
