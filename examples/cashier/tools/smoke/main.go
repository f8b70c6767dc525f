// Command smoke starts the built server on a copy of the database, takes it
// through a cashier's day over HTTP, receives its webhooks, and ends it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"cashier/artifact"
	"cashier/hooks"
)

// secret signs webhooks between this program and the server it starts.
const secret = "smoke"

// options are the command line.
type options struct {
	binary     string
	database   string
	work       string
	report     string
	operations int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "build/bin/cashierd", "server `file` to start")
	flag.StringVar(&o.database, "database", "gen/cashier.db", "migrated database `file` to start from")
	flag.StringVar(&o.work, "work", "build/smoke", "`directory` to work in, removed afterwards")
	flag.StringVar(&o.report, "report", "build/smoke.json", "`file` to write what was checked to")
	flag.IntVar(&o.operations, "operations", 0, "`number` of operations that must have been asked for")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "smoke:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	database, err := prepare(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.work)) }()
	webhook := startReceiver(secret)
	defer webhook.Close()
	server, err := startServer(ctx, o.binary, database, webhook.URL, secret)
	if err != nil {
		return err
	}
	if err := errors.Join(converse(ctx, server.url, webhook, o.operations), server.stop()); err != nil {
		return err
	}
	report, err := json.MarshalIndent(checks(), "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := artifact.Write(o.report, append(report, '\n')); err != nil {
		return err
	}
	return artifact.Report(
		artifact.Output{Name: "checks", Value: len(checks())},
		artifact.Output{Name: "summary", Value: fmt.Sprintf("%d requests answered as they must be", len(checks()))},
	)
}

// prepare copies the database to where nobody has worked before: a run that
// was killed may have left files, or a server that is about to end, and SQLite
// finds the journal of a database by its path.
func prepare(o options) (string, error) {
	if err := os.RemoveAll(o.work); err != nil {
		return "", fmt.Errorf("clearing %s: %w", o.work, err)
	}
	if err := os.MkdirAll(o.work, 0o755); err != nil {
		return "", fmt.Errorf("making %s: %w", o.work, err)
	}
	dir, err := os.MkdirTemp(o.work, "")
	if err != nil {
		return "", fmt.Errorf("making room for the database: %w", err)
	}
	content, err := os.ReadFile(o.database)
	if err != nil {
		return "", fmt.Errorf("copying the database: %w", err)
	}
	copied := filepath.Join(dir, "cashier.db")
	return copied, artifact.Write(copied, content)
}

// converse has the whole conversation with the server.
func converse(ctx context.Context, url string, webhook *receiver, operations int) error {
	asked := map[string]bool{}
	for _, c := range checks() {
		if err := c.ask(ctx, url); err != nil {
			return err
		}
		asked[c.Operation] = true
	}
	if len(asked) < operations {
		return fmt.Errorf("%d operations were asked for, the interface has %d", len(asked), operations)
	}
	return webhook.expect(ctx, hooks.TopicRecorded, hooks.TopicThreshold, hooks.TopicRecorded)
}
