package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Prefixes of the names of databases that engines create. A name ends with eight hex
// digits that stand for the database that it belongs to, since one savepoint may cover
// several databases of a server.
const (
	scratchPrefix = "runner_scratch_"
	copyPrefix    = "runner_savepoint_"
)

// IsID reports whether an ID can be a part of the name of a database: at most 32 letters,
// digits, "_" and "-", so that the name is short enough for every server.
func IsID(id string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`).MatchString(id)
}

// Names names what an engine creates for one database.
type Names struct{ suffix string }

// NamesFor returns the names for a database.
func NamesFor(database string) Names {
	sum := sha256.Sum256([]byte(database))
	return Names{"_" + hex.EncodeToString(sum[:4])}
}

// Scratch is a database that exists only during a call. Whoever holds the lock of the
// database may remove it. A purpose is empty or begins with "$", which no ID contains.
func (n Names) Scratch(id, purpose string) string { return scratchPrefix + id + purpose + n.suffix }

// IsScratch reports whether a database is a scratch database for this one.
func (n Names) IsScratch(name string) bool {
	return strings.HasPrefix(name, scratchPrefix) && strings.HasSuffix(name, n.suffix)
}

// Copy is the database that a savepoint keeps as its copy.
func (n Names) Copy(id string) string { return copyPrefix + id + n.suffix }

// Lock is the name of the lock of the database.
func (n Names) Lock() string { return "runner_savepoint" + n.suffix }
