package view

// AwaitTyped returns once the line that a given-up question was waiting for
// has been read.
func AwaitTyped(t *Terminal) {
	got := <-t.lines.pending
	t.lines.pending <- got
}
