package main

import "testing"

// TestReadCounts: the events of a file of perf's are added up, and one that has none,
// or one that could not be counted, is a mistake.
func TestReadCounts(t *testing.T) {
	t.Parallel()
	const fsync, fdatasync = "372,,syscalls:sys_enter_fsync,2530258595,100.00,,\n", "3,,syscalls:sys_enter_fdatasync,2530258595,100.00,,\n"
	if got, err := readCounts([]byte("# started on Sunday\n\n" + fsync + fdatasync)); got != 375 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	for _, data := range []string{"", "# started on Sunday\n", fsync + "<not counted>,,syscalls:sys_enter_fdatasync,0,0.00,,\n"} {
		if got, err := readCounts([]byte(data)); err == nil {
			t.Errorf("got %d of %q", got, data)
		}
	}
}
