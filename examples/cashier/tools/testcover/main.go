// Command testcover runs the tests, measures what they cover, and writes both
// down. It fails when a test does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"cashier/artifact"
	"cashier/tools/internal/report"
)

// options are the command line.
type options struct {
	tests   string
	cover   string
	profile string
	report  string
}

func main() {
	var o options
	flag.StringVar(&o.tests, "tests", "tests", "`directory` of the package of tests")
	flag.StringVar(&o.cover, "cover", "./...", "`packages` to measure the coverage of, separated by commas")
	flag.StringVar(&o.profile, "profile", "build/coverage.out", "`file` of the coverage profile")
	flag.StringVar(&o.report, "report", "build/tests.json", "`file` of the report")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "testcover:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if err := os.MkdirAll(filepath.Dir(o.profile), 0o755); err != nil {
		return fmt.Errorf("making room for the profile: %w", err)
	}
	temporary := o.profile + ".tmp"
	tests, err := runTests(ctx, o, temporary)
	if err != nil {
		return err
	}
	result := report.Report{Tests: tests}
	if result.Covered, result.Statements, err = coverage(temporary); err != nil {
		return err
	}
	result.Coverage = math.Round(1000*float64(result.Covered)/float64(result.Statements)) / 10
	if err := os.Rename(temporary, o.profile); err != nil {
		return fmt.Errorf("keeping the profile: %w", err)
	}
	if err := result.Write(o.report); err != nil {
		return err
	}
	passed := result.Count(report.Pass)
	return artifact.Report(
		artifact.Output{Name: "tests", Value: len(tests)},
		artifact.Output{Name: "passed", Value: passed},
		artifact.Output{Name: "metric.test_coverage", Value: result.Coverage},
		artifact.Output{Name: "metric.tests_passed", Value: passed},
		artifact.Output{Name: "summary", Value: fmt.Sprintf("%d of %d tests passed, %.1f%% covered", passed, len(tests), result.Coverage)},
	)
}

// runTests runs go test, and never from its cache: a measurement is of now.
func runTests(ctx context.Context, o options, profile string) ([]report.Test, error) {
	command := exec.CommandContext(ctx, "go", "test", "-json", "-count=1",
		"-coverprofile="+profile, "-coverpkg="+o.cover, "./"+filepath.ToSlash(o.tests))
	command.Stderr = os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 5 * time.Second
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("running the tests: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("running the tests: %w", err)
	}
	tests, failure := follow(output, os.Stdout, o.tests)
	if err := errors.Join(failure, command.Wait()); err != nil {
		return nil, fmt.Errorf("running the tests: %w", err)
	}
	if len(tests) == 0 {
		return nil, errors.New("running the tests: there are none")
	}
	return tests, nil
}
