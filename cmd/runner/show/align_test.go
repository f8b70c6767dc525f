package show

import (
	"math/rand/v2"
	"strings"
	"testing"
	"text/tabwriter"
)

// TestAlign: it is what package tabwriter makes of the same lines.
func TestAlign(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abc ✓←é世")
	for range 200 {
		var lines strings.Builder
		cells := 1 + random.IntN(6)
		for range random.IntN(20) {
			for i := range cells {
				if i > 0 {
					lines.WriteByte('\t')
				}
				for range random.IntN(50) {
					lines.WriteRune(letters[random.IntN(len(letters))])
				}
			}
			lines.WriteByte('\n')
		}
		var got, want strings.Builder
		alignColumns(&got, []byte(lines.String()))
		tw := tabwriter.NewWriter(&want, 0, 0, 2, ' ', 0)
		if _, err := tw.Write([]byte(lines.String())); err != nil {
			t.Fatal(err)
		}
		if err := tw.Flush(); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("%q\ngot\n%s\nwant\n%s", lines.String(), got.String(), want.String())
		}
	}
}

func TestFormatSize(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1 << 10: "1.0 KB", 1 << 20: "1.0 MB", 1 << 30: "1.0 GB", 1 << 40: "1024.0 GB"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}
