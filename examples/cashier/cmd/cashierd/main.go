// Command cashierd serves the cashier over HTTP.
//
// It prints the address that it listens on, and ends, with its work done, on
// SIGTERM or an interrupt. CASHIER_WEBHOOK_SECRET signs what it delivers.
// A program that starts it for itself can have it end with -until-stdin-ends,
// however that program ends.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"cashier/database"
	"cashier/gen/instrumented"
	"cashier/hooks"
	"cashier/routes"
	"cashier/schema"
	"cashier/service"
)

// options are the command line.
type options struct {
	database string
	listen   string
	webhook  string
	interval time.Duration
	attached bool
}

func main() {
	var o options
	flag.StringVar(&o.database, "database", "cashier.db", "database `file`, made or migrated where needed")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` to serve at")
	flag.StringVar(&o.webhook, "webhook", "", "`URL` that events are delivered to; none without")
	flag.DurationVar(&o.interval, "interval", time.Second, "`time` between deliveries")
	flag.BoolVar(&o.attached, "until-stdin-ends", false, "end when standard input does")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.attached {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "cashierd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	db, err := database.Open(ctx, o.database)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := database.Migrate(ctx, db, schema.Files); err != nil {
		return err
	}
	calls := newCounters(instrumented.Operations())
	cashier := instrumented.New(service.New(db, time.Now, hooks.Outbox{}), calls.observe)
	api, err := routes.Handler(routes.Table(cashier))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.Handle("GET /metrics", calls)

	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	stopDelivery := deliver(ctx, db, o)
	defer stopDelivery()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return serve(ctx, listener, mux)
}

// deliver runs the dispatcher until the returned function is called.
func deliver(ctx context.Context, db *sql.DB, o options) (stop func()) {
	if o.webhook == "" {
		return func() {}
	}
	client := &http.Client{Timeout: 10 * time.Second}
	dispatcher := hooks.NewDispatcher(db, client, o.webhook, []byte(os.Getenv("CASHIER_WEBHOOK_SECRET")), time.Now)
	ctx, cancel := context.WithCancel(ctx)
	ticker := time.NewTicker(o.interval)
	var running sync.WaitGroup
	running.Go(func() {
		dispatcher.Run(ctx, ticker.C, func(err error) { log.Print(err) })
	})
	return func() {
		cancel()
		ticker.Stop()
		running.Wait()
	}
}

// serve answers requests until ctx is done, and lets those under way finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("shutting down: %w", err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
