// Package info holds what commands say: the status of a session, its history, checkpoints,
// differences, reasons, previews and results. Each is a value whose JSON is what the command
// prints with --json, with the words in which people read it.
//
// A struct that a command prints as JSON belongs here, with the function that makes it from
// a state, a plan or the result of an operation, and its texts of one line. Nothing here
// opens a store, takes a lock, reads a flag or asks; the clock is an argument. Package show
// writes these values on a terminal. Where to begin:
//
//   - SessionStatus is what `runner status` says;
//   - Judged is what a person judges who answers a gate;
//   - HistoryReport, CheckpointReport, DiffReport, WhyReport and the others whose names end
//     with Report are named after their commands; FormatVersion is the version of all of them;
//   - Fact is a name and a value, such as the last checkpoint of a session;
//   - Size, When, Took and ChangeMark are the words for sizes, times and changes.
package info

// FormatVersion is the version of what commands print with --json.
const FormatVersion = "1.0"
