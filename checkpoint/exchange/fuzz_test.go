package exchange_test

import (
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/exchange"
)

// FuzzImport: no content of a file makes an import crash, and what an import accepts is a
// document from which a session begins.
func FuzzImport(f *testing.F) {
	names := map[exchange.Format]string{exchange.PRD: "a.json", exchange.GoTeam: "manifest.json", exchange.Orchestrate: "a.json", exchange.Crunch: "a.yaml"}
	for i, format := range exchange.Formats() {
		files, err := filepath.Glob(filepath.Join("testdata", string(format), "*"))
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i, data)
		}
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		formats := exchange.Formats()
		format := formats[(which%len(formats)+len(formats))%len(formats)]
		dir := t.TempDir()
		path := filepath.Join(dir, names[format])
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if format == exchange.GoTeam {
			step, err := os.ReadFile("testdata/go-team/cp-01-init-20251228-210000.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "cp-01-init-20251228-210000.json"), step, 0o600); err != nil {
				t.Fatal(err)
			}
			path = dir
		}
		to := targets()[format]
		taken, err := exchange.Import(format, path, to)
		if err == nil {
			begin(t, to, taken.Document)
		}
	})
}
