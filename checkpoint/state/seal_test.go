package state

import "testing"

func TestSealNoticesEveryByte(t *testing.T) {
	t.Parallel()
	sealed := Seal([]byte(`{"format_version":"1.0","id":"CP-a"}`))
	if _, err := Unseal(sealed); err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		flipped := append([]byte(nil), sealed...)
		flipped[i] ^= 1
		if _, err := Unseal(flipped); err == nil {
			t.Errorf("byte %d flipped: not noticed", i)
		}
		if _, err := Unseal(sealed[:i]); err == nil {
			t.Errorf("cut at %d: not noticed", i)
		}
	}
}
