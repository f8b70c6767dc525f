package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// byHand runs the commands of the cashier example in the order and with the parallelism
// that its pipeline gives them, and keeps no record.
const byHand = `set -eu
go run ./tools/migrate
go run ./tools/schemacheck
{ go run ./tools/instrument; go vet ./service ./gen/...; } &
services=$!
operations=$(go run ./tools/openapi -out build/openapi.json | sed -n 's/^operations=//p')
go run ./tools/lint routes service
wait "$services"
go build -trimpath -buildvcs=false -ldflags='-s -w' -o build/bin/cashierd.tmp ./cmd/cashierd
mv build/bin/cashierd.tmp build/bin/cashierd
go run ./tools/smoke -operations "$operations"
go vet ./hooks ./cmd/...
go run ./tools/testcover -cover ./database,./codegen,./service,./routes,./hooks,./gen/...
go run ./tools/testcheck
`

// cashier returns the contest of real work: compiling, serving and testing.
func cashier(n sizes) contest {
	hand, _ := program("sh", "-c", byHand)
	build, missing := program("runner", "build", "PRD-009", "--output", "quiet")
	afresh := func(dir string) error {
		v := vault(dir)
		return errors.Join(v.aside("tree/.runner"), v.aside("tree/gen"), v.aside("tree/build"))
	}
	made := func(dir, _ string) error {
		_, err := os.Stat(filepath.Join(vault(dir).tree(), "build", "tests.json"))
		return err
	}
	return contest{
		name: cashierName, rounds: 3 * n.rounds, // because two rounds differ by a tenth
		shared: func(dir string) error {
			if err := copyCashier(dir); err != nil {
				return err
			}
			return call(vault(dir).tree(), "sh", "-c", byHand) // so that Go's build cache is equally warm for all contestants
		},
		contestants: []contestant{
			{name: "runner", missing: missing, prepare: afresh, command: inTree(build), check: made},
			{name: "by hand", prepare: afresh, command: inTree(hand), check: made},
		},
	}
}

// copyCashier copies the committed files of the cashier example into a vault.
func copyCashier(dir string) error {
	to := vault(dir).tree()
	if err := os.CopyFS(to, os.DirFS("examples/cashier")); err != nil {
		return err
	}
	for _, made := range []string{".runner", "gen", "build"} {
		if err := os.RemoveAll(filepath.Join(to, made)); err != nil {
			return err
		}
	}
	return nil
}

// inTree makes a command run in the tree of a vault.
func inTree(run func(dir string) *exec.Cmd) func(dir string) *exec.Cmd {
	return func(dir string) *exec.Cmd { return run(vault(dir).tree()) }
}
