package view

// The words for a run whose end is not on record: its runner was killed, or the machine went down.
const (
	// Killed is the word for the session. What ran in it was interrupted, as state.State.CutOff says.
	Killed = "killed"
	// WasKilled says it of a runner, or of its session.
	WasKilled = "was killed: how its run ended is not on record"
)
