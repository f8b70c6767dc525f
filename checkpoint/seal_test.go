package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func sealSum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func TestSealNoticesEveryByte(t *testing.T) {
	t.Parallel()
	sealed := seal([]byte(`{"format_version":"1.0","id":"CP-a"}`))
	if _, err := unseal(sealed); err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		flipped := append([]byte(nil), sealed...)
		flipped[i] ^= 1
		if _, err := unseal(flipped); err == nil {
			t.Errorf("byte %d flipped: not noticed", i)
		}
		if _, err := unseal(sealed[:i]); err == nil {
			t.Errorf("cut at %d: not noticed", i)
		}
	}
}
