package state

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"prdrunner/checkpoint/ledger"
)

// Caller is the workstream whose call a session runs. A workstream that calls a pipeline
// chooses the id of the call when it starts, and keeps it in its record. As long as the two
// ids are equal, the workstream continues the session of the called pipeline; otherwise it
// begins a new one. The record loses the id when the work must be done anew, when an attempt
// ends before the called pipeline has a session, and in a rollback of the caller, because the
// called pipeline has gone on since.
type Caller struct {
	PRD        string `json:"prd"`
	Session    string `json:"session"`
	Workstream string `json:"workstream"`
	Call       string `json:"call"`
	Root       string `json:"root"` // the PRD that people build: that of the first caller
	File       Text   `json:"file"` // the file of its pipeline
}

// PausedCall is the session of a called pipeline that is paused.
type PausedCall struct {
	PRD   string   `json:"prd"`
	Gates []string `json:"gates,omitempty"` // labels of the gates it waits at
	// Asks is what an approval of a gate must give.
	Asks map[string][]AskedInput `json:"asks,omitempty"`
	// Budget says that a budget is used up.
	Budget bool `json:"budget,omitempty"`
}

// forgetCalls makes each workstream that calls a pipeline begin a new session of it.
func (s *State) forgetCalls() {
	for w := range s.Records() {
		w.forgetCall()
	}
}

// forgetCall makes the next attempt of a workstream begin a new session of the pipeline that
// it calls.
func (w *Workstream) forgetCall() { w.keepCall(ongoingCall{}) }

// ongoingCall is what the record of a workstream says about its call.
type ongoingCall struct {
	id    string
	seq   uint64
	spent ledger.Spent
}

func (w *Workstream) ongoingCall() ongoingCall { return ongoingCall{w.Call, w.CallSeq, w.CallSpent} }

// keepCall takes up a call again, after the workstream was reset.
func (w *Workstream) keepCall(c ongoingCall) { w.Call, w.CallSeq, w.CallSpent = c.id, c.seq, c.spent }

// CalledID returns the id of the session of the pipeline that a workstream calls: the id of
// the caller, a dot and the name of the workstream. An instance of a for_each adds a dot and
// its key. Of an id that gets too long, the end is replaced by a digest.
func CalledID(prd, block string, key *string) string {
	id := prd + "." + calledName(block)
	if key != nil {
		id += "." + calledName(*key)
	}
	if len(id) <= maxCalledID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	digest := "-" + hex.EncodeToString(sum[:16])
	return id[:maxCalledID-len(digest)] + digest
}

// maxCalledID keeps ids short enough for the names of files.
const maxCalledID = 120

// calledName encodes a part of an id, so that it is the name of a file as it stands. Letters,
// digits, "_" and "-" stay, and any other byte becomes "_" and two hexadecimal digits. So does
// what would look like that, and the first letter of a name that Runner gives to files of its
// own.
func calledName(name string) string {
	const digits = "0123456789ABCDEF"
	if name == "" {
		return "_"
	}
	own := name == "_"
	for _, ending := range []string{"hcl", "json", "lock", "archiving", "importing", "deleting", "moving"} {
		own = own || strings.EqualFold(name, ending)
	}
	isHex := func(i int) bool { return i < len(name) && strings.IndexByte(digits, name[i]) >= 0 }
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' && (!isHex(i+1) || !isHex(i+2))
		if plain && (i > 0 || !own) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('_')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&0xf])
	}
	return b.String()
}

// CalledIDPattern matches what CalledID adds to the id of a caller.
const CalledIDPattern = `(?:\.[A-Za-z0-9_-]+)+`
