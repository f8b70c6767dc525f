package workspace

// async runs do in a goroutine and returns a function that waits for its result. The
// caller must call that function, since nothing else waits for the goroutine.
func async[T any](do func() (T, error)) (wait func() (T, error)) {
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
