package view

// Word is what people read of a session, a workstream or a checkpoint, where its status is not all that is to be said.
// `runner explain` explains each.
type Word string

// The words.
const (
	Killed     Word = "killed" // a session whose runner was killed, or whose machine went down; what ran in it was interrupted, as state.State.CutOff says
	Outdated   Word = "outdated"
	Allowed    Word = "allowed" // a failure that fails nothing else
	Reused     Word = "reused"
	Stale      Word = "stale"
	Unfinished Word = "unfinished"
	Abandoned  Word = "abandoned"
	GivenUp    Word = "given up"
	Damaged    Word = "damaged"

	Current     Word = "curr" // these are said of checkpoints
	Discarded   Word = "discarded"
	Pinned      Word = "pinned"
	Behind      Word = "behind"
	NotCaptured Word = "files not captured"
)

// WasKilled says of a runner, or of its session, that the end of its last run is not on record.
const WasKilled = "was killed: how its run ended is not on record"
