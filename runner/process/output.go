package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"prdrunner/runner"
)

const (
	logFlags = os.O_CREATE | os.O_TRUNC | os.O_WRONLY | os.O_APPEND
	logMode  = 0o600
	dirMode  = 0o700

	// drainTime is how long to wait for output from a pipe that another process holds
	// open after the task's processes have ended.
	drainTime = 500 * time.Millisecond
	// drainLimit bounds the number of bytes read after drainTime. It is more than any pipe
	// holds (1 MiB on Linux), so that everything written before is complete.
	drainLimit = 2 << 20
)

// output is the destination of a task's standard output and error: the log file, or a pipe
// to the log that masks.
type output struct {
	child *os.File // given to the process; nil once closed in Runner

	// Only for masked output.
	log    *os.File
	pipe   *os.File
	copied chan error
}

// openOutput creates or truncates the log, and creates its directory if needed.
func (e *Executor) openOutput(work runner.Task) (*output, error) {
	log, err := openLog(work.Log)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	lockLog(log)
	if !work.Mask || e.options.Mask == nil {
		return &output{child: log}, nil
	}
	pipe, child, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the pipe for masked output: %w", err), log.Close())
	}
	out := &output{child: child, log: log, pipe: pipe, copied: make(chan error, 1)}
	go func() { out.copied <- copyMasked(e.options.Mask(log), pipe) }()
	return out, nil
}

func openLog(path string) (*os.File, error) {
	log, err := createLog(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return log, err
	}
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return nil, err
	}
	return createLog(path)
}

// removeEmpty removes a log into which nothing was written. It stays if a process that has outlived
// its task still has it as its output, or if that is not known. A run of many silent steps would
// leave a directory with as many empty files, in which the file system makes each new one more
// slowly. A failure is not worth telling: the log stays, and is empty.
func removeEmpty(path string) {
	if isEmpty(os.Lstat(path)) {
		removeUnheld(path)
	}
}

func isEmpty(info os.FileInfo, err error) bool {
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// release closes the child's side in Runner, once the child has it.
func (o *output) release() error {
	if o.child == nil {
		return nil
	}
	err := o.child.Close()
	o.child = nil
	return err
}

// finish returns when everything written before the call is in the log.
func (o *output) finish() error {
	err := o.release()
	if o.log == nil {
		return err
	}
	// The pipe ends when its last writer closes it. A process that is not the task's must
	// not delay the task.
	if deadlineErr := o.pipe.SetReadDeadline(time.Now().Add(drainTime)); deadlineErr != nil {
		timer := time.AfterFunc(drainTime, func() { _ = o.pipe.Close() })
		defer timer.Stop()
	}
	if copyErr := <-o.copied; copyErr != nil {
		err = errors.Join(err, fmt.Errorf("write the log: %w", copyErr))
	}
	_ = o.pipe.Close() // may be closed already
	return errors.Join(err, o.log.Close())
}

// copyMasked copies until the pipe ends. If it cannot write the log, it continues to read,
// so that the task neither blocks nor dies.
func copyMasked(log io.WriteCloser, pipe *os.File) error {
	buffer := make([]byte, 32<<10)
	var failed error
	late := 0 // bytes read after drainTime
	for {
		n, err := pipe.Read(buffer)
		if n > 0 && failed == nil {
			_, failed = log.Write(buffer[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && late == 0 {
			late = 1
		} else if err != nil || late > drainLimit {
			if closeErr := log.Close(); failed == nil {
				failed = closeErr
			}
			return failed
		}
		if late > 0 {
			late += n
			_ = pipe.SetReadDeadline(time.Now().Add(drainTime / 10))
		}
	}
}

// maskText masks sensitive values in a short text.
func maskText(mask func(io.Writer) io.WriteCloser, text string) string {
	var masked bytes.Buffer
	w := mask(&masked)
	_, writeErr := io.WriteString(w, text)
	if err := errors.Join(writeErr, w.Close()); err != nil {
		return "(not shown: it could not be masked)"
	}
	return masked.String()
}
