package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"prdrunner/checkpoint/objects"
)

// digestPrefix begins every digest; 64 hex digits follow.
const digestPrefix = "sha256:"

func DigestOf(sha []byte) string { return digestPrefix + hex.EncodeToString(sha) }

// IsDigest reports whether a text is a digest in its only valid spelling.
func IsDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, digestPrefix)
	return ok && len(digits) == 2*sha256.Size && objects.IsHex(digits)
}

// parseDigest returns the bytes of a digest.
func parseDigest(digest string) (sha [sha256.Size]byte, err error) {
	if !IsDigest(digest) {
		return sha, fmt.Errorf("%q is not a digest", digest)
	}
	_, err = hex.Decode(sha[:], []byte(digest[len(digestPrefix):]))
	return sha, err
}
