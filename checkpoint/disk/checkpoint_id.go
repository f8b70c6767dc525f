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
	// PhaseChars are what EncodeName makes of any name.
	PhaseChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%-"
	// maxCheckpointID leaves a file system that takes names of 255 bytes room for
	// what the file's name has besides.
	maxCheckpointID = 255 - len(JSONExt+ZstExt)
)

// NewCheckpointID names a checkpoint; origin tells it from every other one.
func NewCheckpointID(phase string, at time.Time, origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return checkpointIDPrefix + EncodeName(phase) + "-" + stamp(at) + "-" + hex.EncodeToString(sum[:checkpointHashSize])
}

// IsCheckpointID reports whether NewCheckpointID could have made an id, which
// can be part of the name of a file.
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

// StampFormat is how times stand in names.
const StampFormat = "20060102T150405Z"

// stamp formats a time for a checkpoint's id.
func stamp(at time.Time) string { return at.UTC().Format(StampFormat) }
