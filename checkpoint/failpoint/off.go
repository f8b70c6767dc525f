//go:build !failpoint

package failpoint

// Before is called before an operation. If it returns an error, the caller returns that
// instead of performing the operation.
func Before(Op, string) error { return nil }
