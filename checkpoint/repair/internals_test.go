package repair

import "prdrunner/checkpoint/state"

// What follows gives the tests of package repair_test names that the package does not
// export.

// Begins returns the state with which the new journal begins.
func (r *JournalRebuild) Begins() *state.State { return r.state }

// Prev returns the checksum that the first line of the new journal continues.
func (r *JournalRebuild) Prev() string { return r.prev }
