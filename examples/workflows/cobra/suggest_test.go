// Copyright the authors of Runner.

package commands

import "testing"

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"add", "add", 0}, {"ad", "add", 1}, {"dad", "add", 2}, {"list", "last", 1}, {"", "list", 4},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("from %q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if back := distance(tt.b, tt.a); back != tt.want {
			t.Errorf("from %q to %q: %d, want %d", tt.b, tt.a, back, tt.want)
		}
	}
}
