package workspace

// beside starts a function, and returns one that waits for its result. It must
// be called: nothing else waits.
func beside[T any](do func() (T, error)) (wait func() (T, error)) {
	done := make(chan struct{})
	var result T
	var err error
	go func() {
		defer close(done)
		result, err = do()
	}()
	return func() (T, error) {
		<-done
		return result, err
	}
}
