// Package secret resolves the secrets of a pipeline: it gets their values when a process
// that needs them is about to start.
//
// A Resolver keeps the values in memory, for one run. It stores none, and has each hidden
// from output and records before anything else gets it. Which process needs which secret
// is said by package pipeline. Begin with Resolver.Resolve.
package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
	"prdrunner/runner/query"
)

// maxSize is the largest value in bytes: masking takes memory for each byte of a value.
const maxSize = 64 << 10

// Resolver tries to resolve each secret once. It is safe for concurrent use.
type Resolver struct {
	query.Querier
	Pipeline *pipeline.Pipeline
	Getenv   func(string) string // a variable of Runner's environment, "" if it is not set
	Mask     func(string) string

	mu       sync.Mutex
	attempts map[string]*attempt // the last one at each secret
}

// attempt is an attempt to resolve a secret.
type attempt struct {
	done  chan struct{} // closed when the attempt has ended
	value string
	err   error
}

// Error says why a secret could not be resolved, without its value.
type Error struct {
	Name  string
	Range hcl.Range // of the secret block
	err   error
	again bool // an earlier Error has told the reason
}

func (e *Error) Error() string {
	if e.again {
		return fmt.Sprintf("secret.%s could not be resolved, and is tried once a run: the reason stands where it failed first", e.Name)
	}
	return fmt.Sprintf("secret.%s could not be resolved: %v", e.Name, e.err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.err }

// Value returns the value of a secret, and false if it is not resolved.
func (r *Resolver) Value(name string) (string, bool) {
	r.mu.Lock()
	a := r.attempts[name]
	r.mu.Unlock()
	if a == nil {
		return "", false
	}
	select {
	case <-a.done:
		return a.value, a.err == nil
	default:
		return "", false
	}
}

// Resolved reports whether all these secrets are resolved.
func (r *Resolver) Resolved(names []string) bool {
	for _, name := range names {
		if _, ok := r.Value(name); !ok {
			return false
		}
	}
	return true
}

// Resolve resolves those of the secrets that are not resolved yet. A secret that failed is
// not tried again: it fails each call, and only the first one tells the reason. The error is an
// *Error, unless ctx has ended.
func (r *Resolver) Resolve(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := r.resolve(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (r *Resolver) resolve(ctx context.Context, name string) error {
	a, begins := r.begin(name)
	if begins {
		a.value, a.err = r.get(ctx, name)
		close(a.done)
		return a.err
	}
	select {
	case <-a.done:
		return toldAgain(a.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// toldAgain returns the error of an attempt for another caller than the first.
func toldAgain(err error) error {
	if first := new(Error); errors.As(err, &first) {
		return &Error{Name: first.Name, Range: first.Range, err: first.err, again: true}
	}
	return err
}

// begin returns the attempt at a secret, and whether the caller must carry it out. An attempt
// that was cancelled is made again.
func (r *Resolver) begin(name string) (a *attempt, begins bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a = r.attempts[name]; a != nil && !a.cancelled() {
		return a, false
	}
	if r.attempts == nil {
		r.attempts = map[string]*attempt{}
	}
	a = &attempt{done: make(chan struct{})}
	r.attempts[name] = a
	return a, true
}

// cancelled reports whether the attempt ended without a value and without a failure.
func (a *attempt) cancelled() bool {
	select {
	case <-a.done:
		return a.err != nil && !errors.As(a.err, new(*Error))
	default:
		return false
	}
}

// get gets the value of a secret from its source, and has it hidden.
func (r *Resolver) get(ctx context.Context, name string) (string, error) {
	source := r.Pipeline.SecretSource(name)
	value, err := r.read(ctx, source)
	if err == nil {
		err = r.accept(name, value)
	}
	switch {
	case err == nil:
		return value, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return "", &Error{Name: name, Range: source.Range, err: errors.New(r.Mask(err.Error()))}
}

// accept checks a value, and has it hidden.
func (r *Resolver) accept(name, value string) error {
	switch {
	case strings.ContainsRune(value, 0):
		return errors.New("its value holds a NUL byte, which no process can receive")
	case mask.TooShort(value):
		return fmt.Errorf("its value has fewer than %d characters, so it can't be masked in output", mask.MinLength)
	}
	return r.Hide([]pipeline.Secret{{Variable: "secret." + name, Value: value}})
}

// read returns what the source of a secret gives.
func (r *Resolver) read(ctx context.Context, source *pipeline.SecretSource) (string, error) {
	inv, isProcess, diags := source.Invocation()
	switch {
	case diags.HasErrors():
		return "", diags
	case isProcess:
		return r.print(ctx, source, inv)
	case source.File != "":
		return r.readFile(source.File)
	}
	value := r.Getenv(source.Env)
	if value == "" {
		return "", fmt.Errorf("the environment variable %s is not set", source.Env)
	}
	return value, nil
}

// print returns what the process of a secret prints. If it fails, what it has printed is
// hidden all the same, since its messages may repeat it.
func (r *Resolver) print(ctx context.Context, source *pipeline.SecretSource, inv pipeline.Invocation) (string, error) {
	out, err := r.Output(ctx, inv, source.Timeout, maxSize)
	value := withoutLineBreak(out)
	if err != nil && !mask.TooShort(value) {
		err = errors.Join(err, r.Hide([]pipeline.Secret{{Variable: "secret." + source.Name, Value: value}}))
	}
	return value, err
}

// readFile returns the content of a file, which may be outside of the workspace.
func (r *Resolver) readFile(name string) (string, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Workspace, path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("%s has more than %d KiB", name, maxSize>>10)
	}
	return withoutLineBreak(data), err
}

// withoutLineBreak returns a text without the line break at its end.
func withoutLineBreak(text []byte) string {
	if line, ended := bytes.CutSuffix(text, []byte("\n")); ended {
		text = bytes.TrimSuffix(line, []byte("\r"))
	}
	return string(text)
}
