package repair

import "prdrunner/checkpoint/state"

// This file exports internals of the package to the tests in package repair_test.

// Begins returns the state with which the new journal begins.
func (r *JournalRebuild) Begins() *state.State { return r.state }

// Prev returns the checksum that the first line of the new journal continues.
func (r *JournalRebuild) Prev() string { return r.prev }
