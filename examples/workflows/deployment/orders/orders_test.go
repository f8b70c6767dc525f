package orders

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestTotals(t *testing.T) {
	tests := []struct {
		name, rows string
		want       map[string]Total
	}{
		{"before", "1,ana,250\n2,ben,100\n", map[string]Total{"eur": {Orders: 2, Cents: 350}}},
		{"after", "1,ana,250,eur\n2,ben,100,usd\n", map[string]Total{"eur": {Orders: 1, Cents: 250}, "usd": {Orders: 1, Cents: 100}}},
		{"cents that are no number", "1,ana,many\n", nil},
		{"rows of two kinds", "1,ana,250\n2,ben,100,usd\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "orders.csv"), []byte(tt.rows), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Totals(dir)
			if (err != nil) != (tt.want == nil) || !maps.Equal(got, tt.want) {
				t.Errorf("Totals returns %v, %v", got, err)
			}
		})
	}
}
