package document_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the random tests repeatable, unless a flag says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
