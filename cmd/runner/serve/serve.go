// Package serve is the command `runner serve`, a web server for the sessions of a workspace. Begin with
// [NewCommand].
//
// Access control, routes and live updates belong here. Reading sessions does not: package
// inspect does that, and package page writes the HTML. A form that changes something runs
// the same command as a user would type, in this process, with its checks, messages and
// audit records.
//
//   - serve.go: the command, and the server around all requests;
//   - guard.go: who may ask;
//   - pages.go: the requests that read; printed.go, checkpoints.go: those that show what a command prints;
//   - actions.go: the requests that change something;
//   - commands.go: commands as requests run them;
//   - live.go, logs.go, stream.go: what is sent while a page is open.
package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/page"
)

type options struct {
	listen    string
	tokenFile string
	hosts     []string
	readOnly  bool
}

// NewCommand returns the command.
func NewCommand(env *cli.Environment, commands Commands) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show sessions in a browser",
		Long: `Serve pages about the sessions of this workspace until Ctrl+C: all PRDs, and for each the
steps with their times, the graph, gates, logs, checkpoints with their differences,
history, and the plan of the next resume. While a run goes on, the list, the page of its
session and the logs of its steps are kept up to date.
Gates can be answered there, runs paused, checkpoints pinned, and sessions rolled back
after a preview, with the checks and records of the commands.

The first line on standard output is the address, with a token that lets a browser in.
Everyone who knows the token can do what you can do here, or only read with --read-only.
Only this machine can reach the address, unless --listen names another one. Between
machines nothing is encrypted: let a proxy with TLS pass requests on, and name it with
--host.`,
		Example: `  runner serve
  runner serve --listen 127.0.0.1:8080 --read-only
  runner serve --listen 127.0.0.1:8080 --host runner.example.com`,
		Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), env, commands, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "listen on `ADDRESS`; port 0 is any free port")
	flags.StringVar(&o.tokenFile, "token-file", "", "take the token from `FILE`, and don't print it")
	flags.StringArrayVar(&o.hosts, "host", nil, "answer requests for the host `NAME` too, as a proxy passes them on (repeatable)")
	flags.BoolVar(&o.readOnly, "read-only", false, "show pages that change nothing")
	return cmd
}

// server answers requests.
type server struct {
	ctx      context.Context // ends with the server
	env      *cli.Environment
	commands Commands
	pages    *page.Server
	guard    *guard
	live     *live
	busy     chan struct{} // has an element for each request that reads sessions now
}

// mostBusy is how many requests read sessions at once. Others wait, so that many readers can't take the machine from a
// run that goes on.
const mostBusy = 2

func serve(ctx context.Context, env *cli.Environment, commands Commands, o options) error {
	env.Signals.ResumeWith("") // who stops serving leaves nothing to do
	token, err := o.token(env)
	if err != nil {
		return err
	}
	for i, host := range o.hosts {
		if o.hosts[i], err = hostName(host); err != nil {
			return err
		}
	}
	pages, err := page.NewServer(env.CommandLine, env.Version, o.readOnly)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return advice.With(advice.Usagef("listen on %s: %w", o.listen, err), "`--listen 127.0.0.1:0` takes any free port")
	}
	s := &server{ctx: ctx, env: env, commands: commands, pages: pages, busy: make(chan struct{}, mostBusy)}
	s.guard = newGuard(token, l.Addr(), o.hosts, pages)
	s.live = newLive(ctx, s)
	if err := s.announce(l.Addr(), o); err != nil {
		return errors.Join(err, l.Close())
	}
	return s.serve(ctx, l, o)
}

// serve answers requests until ctx is done.
func (s *server) serve(ctx context.Context, l net.Listener, o options) error {
	h := &http.Server{
		Handler: s.guard.protect(s.routes(o.readOnly)), BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := h.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close()
	}
	s.live.wait()
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// announce prints the address.
func (s *server) announce(addr net.Addr, o options) error {
	host := addr.String()
	tcp, isTCP := addr.(*net.TCPAddr)
	if isTCP && tcp.IP.IsUnspecified() { // others reach it by its name
		if name, err := os.Hostname(); err == nil {
			host = net.JoinHostPort(name, strconv.Itoa(tcp.Port))
		}
	}
	url := "http://" + host + "/"
	if o.tokenFile == "" {
		url += "?token=" + s.guard.token
	}
	_, err := fmt.Fprintln(s.env.Stdout, url)
	if isTCP && !tcp.IP.IsLoopback() {
		fmt.Fprintln(s.env.Stderr, "Warning: other machines can reach this address, and nothing is encrypted on the way: use --read-only, or a proxy with TLS and --host.")
	}
	return err
}

// hostName returns the name of a host as it is compared: without a port, in lower case.
func hostName(host string) (string, error) {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "" || strings.ContainsAny(host, "/ ") || strings.Contains(name, ":") {
		return "", advice.With(advice.Usagef("--host %q is not the name of a host", host), "write only the name: --host runner.example.com")
	}
	return strings.ToLower(name), nil
}

// leastToken is how long a token is at least.
const leastToken = 16

// token returns the token that lets a browser in.
func (o options) token(env *cli.Environment) (string, error) {
	if o.tokenFile == "" {
		return rand.Text(), nil
	}
	data, err := cli.ReadFile(env.Path(o.tokenFile))
	if err != nil {
		return "", advice.Usagef("read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < leastToken {
		return "", advice.With(advice.Usagef("the token in %s is too short: it has %d characters, and needs %d", o.tokenFile, len(token), leastToken), "without --token-file, Runner makes one")
	}
	return token, nil
}
