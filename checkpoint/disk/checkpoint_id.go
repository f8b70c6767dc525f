package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// The parts of a checkpoint's id, CP-{phase}-{YYYYMMDDTHHMMSSZ}-{hash}.
const (
	checkpointIDPrefix = "CP-"
	checkpointHashSize = 4 // bytes
	// PhaseChars are the characters that EncodeName leaves in a name.
	PhaseChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%-"
	// maxCheckpointID leaves room for the extensions in a file name of 255 bytes.
	maxCheckpointID = 255 - len(JSONExt+ZstExt)
)

// NewCheckpointID returns the id of a new checkpoint. origin is a text that no other
// checkpoint of the session has.
func NewCheckpointID(phase string, at time.Time, origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return checkpointIDPrefix + EncodeName(phase) + "-" + formatTime(at) + "-" + hex.EncodeToString(sum[:checkpointHashSize])
}

// IsCheckpointID reports whether an id has the form of NewCheckpointID, so that it is safe
// in a file name.
func IsCheckpointID(id string) bool {
	rest, ok := strings.CutPrefix(id, checkpointIDPrefix)
	phase := len(rest) - len("-"+StampFormat+"-") - 2*checkpointHashSize
	if !ok || phase < 1 || len(id) > maxCheckpointID || strings.Trim(rest[:phase], PhaseChars) != "" {
		return false
	}
	rest = rest[phase:]
	at, hash := rest[1:1+len(StampFormat)], rest[2+len(StampFormat):]
	_, noTime := time.Parse(StampFormat, at)
	_, noHash := hex.DecodeString(hash)
	return rest[0] == '-' && rest[1+len(StampFormat)] == '-' && noTime == nil && noHash == nil
}

// StampFormat is the format of times in names.
const StampFormat = "20060102T150405Z"

// formatTime formats a time for a checkpoint's id.
func formatTime(at time.Time) string { return at.UTC().Format(StampFormat) }
