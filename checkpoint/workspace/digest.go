package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"prdrunner/checkpoint/objects"
)

// digestPrefix begins every digest; 64 hex digits follow.
const digestPrefix = "sha256:"

func digestOf(sha []byte) string { return digestPrefix + hex.EncodeToString(sha) }

// isDigest reports whether a text is a digest, in the one way there is to spell it.
func isDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, digestPrefix)
	return ok && len(digits) == 2*sha256.Size && objects.IsHex(digits)
}

// parseDigest returns the bytes that a digest stands for.
func parseDigest(digest string) (sha [sha256.Size]byte, err error) {
	if !isDigest(digest) {
		return sha, fmt.Errorf("%q is not a digest", digest)
	}
	_, err = hex.Decode(sha[:], []byte(digest[len(digestPrefix):]))
	return sha, err
}
