package checkpoint

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
	// phaseChars are what encodeName makes of any name.
	phaseChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%-"
	// maxCheckpointID leaves a file system that takes names of 255 bytes room for
	// what the file's name has besides.
	maxCheckpointID = 255 - len(jsonExt+zstExt)
)

// newCheckpointID names a checkpoint; origin tells it from every other one.
func newCheckpointID(phase string, at time.Time, origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return checkpointIDPrefix + encodeName(phase) + "-" + stamp(at) + "-" + hex.EncodeToString(sum[:checkpointHashSize])
}

// isCheckpointID reports whether newCheckpointID could have made an id, which
// can be part of the name of a file.
func isCheckpointID(id string) bool {
	rest, ok := strings.CutPrefix(id, checkpointIDPrefix)
	phase := len(rest) - len("-"+stampFormat+"-") - 2*checkpointHashSize
	if !ok || phase < 1 || len(id) > maxCheckpointID || strings.Trim(rest[:phase], phaseChars) != "" {
		return false
	}
	rest = rest[phase:]
	at, hash := rest[1:1+len(stampFormat)], rest[2+len(stampFormat):]
	_, noTime := time.Parse(stampFormat, at)
	_, noHash := hex.DecodeString(hash)
	return rest[0] == '-' && rest[1+len(stampFormat)] == '-' && noTime == nil && noHash == nil
}
