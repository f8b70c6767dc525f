package savepoint_test

import (
	"errors"
	"flag"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"prdrunner/checkpoint/savepoint"
)

// cutPoints is at how many moments TestCut cuts the connections of each engine.
var cutPoints = flag.Int("savepoint.cuts", 2, "at how many moments a restore is cut off from its server")

// proxy stands between an engine and its server. It counts the messages of the engine, and
// at one of them cuts all connections, as if the engine was killed there.
type proxy struct {
	listener net.Listener
	server   string               // the socket
	delay    func(message []byte) // before it is sent to the server; nil: none

	mu    sync.Mutex
	seen  int
	cutAt int // 0: never
	cut   bool
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

// newProxy puts a proxy between a subject and its server.
func newProxy(t *testing.T, u *subject, delay func(message []byte)) *proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp") // short, as the path of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const postgresSocket = ".s.PGSQL.5432"
	path, server := filepath.Join(dir, postgresSocket), filepath.Join(postgresServer.Dir(), postgresSocket)
	from, to := postgresServer.Dir(), dir
	if u.driver == savepoint.MySQL {
		path, server = filepath.Join(dir, "socket"), filepath.Join(mysqlServer.Dir(), "socket")
		from, to = server, path
	}
	u.url = strings.Replace(u.url, url.QueryEscape(from), url.QueryEscape(to), 1)
	u.db = u.open(u.url)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server, delay: delay, conns: map[net.Conn]bool{}}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.closeAll()
		p.all.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil || !p.add(client, server) {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		p.all.Go(func() {
			p.forward(client, server)
			_ = server.Close()
			_ = client.Close()
		})
		p.all.Go(func() {
			_, _ = io.Copy(client, server)
			_ = server.Close()
			_ = client.Close()
		})
	}
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

func (p *proxy) forward(client, server net.Conn) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil || !p.count() {
			return
		}
		if p.delay != nil {
			p.delay(buffer[:n])
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// count reports whether the message shall be sent.
func (p *proxy) count() bool {
	p.mu.Lock()
	p.seen++
	if p.seen == p.cutAt {
		p.cut = true
	}
	cut := p.cut
	p.mu.Unlock()
	if cut {
		p.closeAll()
	}
	return !cut
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// messages returns how many messages were counted.
func (p *proxy) messages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// reset begins to count again, and cuts at a message.
func (p *proxy) reset(cutAt int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.cutAt, p.cut = 0, cutAt, false
	p.conns = map[net.Conn]bool{}
}

// TestCut cuts a restore off from its server at moments that are spread over it. After
// each, the contents are the former ones or the restored ones, or the restore is known to
// be unfinished; and restoring again completes it.
func TestCut(t *testing.T) {
	t.Parallel()
	template := postgresSuite()
	template.method = savepoint.Template
	for name, s := range map[string]suite{"postgres dump": postgresSuite(), "postgres template": template, "mysql": mysqlSuite()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newFilled(t, s)
			cutRestores(t, u, newProxy(t, u, nil))
		})
	}
}

func cutRestores(t *testing.T, u *subject, p *proxy) {
	t.Helper()
	point := u.create("a")
	u.all(u.edits[0])
	edited := u.digest()
	p.reset(0)
	if err := u.db.Restore(t.Context(), point); err != nil {
		t.Fatal(err)
	}
	total := p.messages()
	seen := map[string]int{}
	for i := range *cutPoints {
		u.all(u.edits[0])
		p.reset(1 + (2*i+1)*total/(2**cutPoints))
		err := u.db.Restore(t.Context(), point)
		p.reset(0)
		if err == nil {
			seen["finished"]++ // it needed fewer messages
			continue
		}
		switch d, err := u.db.Digest(t.Context()); {
		case errors.Is(err, savepoint.ErrUnfinished):
			seen["unfinished"]++
		case err != nil:
			t.Fatal(err)
		case d.Sum == point.Digest:
			seen["restored"]++
		case d.Sum == edited.Sum:
			seen["edited"]++
		default:
			t.Fatalf("after a cut the database is %+v: neither the edited %+v nor the savepoint %+v", d, edited, point)
		}
		u.restore(point)
		if left := u.left(); left != point.Copy {
			t.Errorf("left are %s", left)
		}
	}
	t.Logf("of %d messages: %v", total, seen)
}
