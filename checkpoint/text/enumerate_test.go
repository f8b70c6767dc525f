package text

import "testing"

// TestEnumerateNamesUpToThree: up to three names are all shown, of more the first two and
// the number of the others.
func TestEnumerateNamesUpToThree(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e"}
	for n, want := range []string{"nothing", "a", "a and b", "a, b and c", "a, b and 2 more", "a, b and 3 more"} {
		if got := Enumerate(names[:n]); got != want {
			t.Errorf("%d names are %q, want %q", n, got, want)
		}
	}
}
