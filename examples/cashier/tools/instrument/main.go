// Command instrument generates the package instrumented from the interface of
// the service.
package main

import (
	"flag"
	"fmt"
	"os"

	"cashier/artifact"
	"cashier/codegen"
)

func main() {
	source := flag.String("source", "service/service.go", "`file` that declares the interface")
	name := flag.String("interface", "Cashier", "`name` of the interface")
	out := flag.String("out", "gen/instrumented/cashier.go", "`file` to write")
	flag.Parse()
	if err := run(*source, *name, *out); err != nil {
		fmt.Fprintln(os.Stderr, "instrument:", err)
		os.Exit(1)
	}
}

func run(source, name, out string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("reading the service: %w", err)
	}
	code, operations, err := codegen.Instrument(source, text, name)
	if err != nil {
		return err
	}
	if err := artifact.Write(out, code); err != nil {
		return err
	}
	return artifact.Report(
		artifact.Output{Name: "operations", Value: len(operations)},
		artifact.Output{Name: "summary", Value: fmt.Sprintf("%d operations instrumented", len(operations))},
	)
}
