package checkpoint

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// atOnce calls do for every index below n, on as many goroutines as there are CPUs. After
// an error it starts no further calls. It returns all errors, in the order of the indexes.
func atOnce(n int, do func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
