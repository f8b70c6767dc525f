package cli

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prdrunner/cmd/runner/show"
)

// TestWidth: a terminal that does not say how wide it is counts as one of 80 columns.
func TestWidth(t *testing.T) {
	t.Parallel()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here:", err) // the scripts in .ci refuse skipped tests
	}
	defer func() { _ = master.Close() }()
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	stream := show.NewScreen(terminal)
	for columns, want := range map[uint16]int{0: 80, 1: 1, 120: 120} {
		if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 1}); err != nil {
			t.Fatal(err)
		}
		if got := ThisProcess().Width(stream); got != want {
			t.Errorf("of %d columns it uses %d, want %d", columns, got, want)
		}
	}
	env := ThisProcess()
	env.IsTerminal = func(any) bool { return false }
	if got := env.Width(stream); got != 80 || !isTerminal(stream) {
		t.Errorf("of no terminal it uses %d columns", got)
	}
}
