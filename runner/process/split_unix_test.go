//go:build unix

package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	secrets "prdrunner/runner/mask"
)

// TestValueSplitBetweenReads: a process prints a sensitive value in two writes, split at
// each byte. The process makes the second write only when the first part has been read
// from the pipe and the harmless bytes of that part are in the log.
func TestValueSplitBetweenReads(t *testing.T) {
	t.Parallel()
	const value = "hunter2 'Zq9\nxé"
	masker, err := secrets.New([]secrets.Secret{{Name: "token", Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	e := newExecutor(t, Options{Mask: masker.Writer})
	var script, want strings.Builder
	for cut := range len(value) + 1 {
		fmt.Fprintf(&script, "printf 'cut at %d\\n%%s' \"$A%d\"; read line <go; printf '%%s\\n' \"$B%d\"\n", cut, cut, cut)
		fmt.Fprintf(&want, "cut at %d\n***\n", cut)
	}
	task := shell(t, script.String())
	task.Mask, task.Env = true, map[string]string{"PATH": os.Getenv("PATH")}
	for cut := range len(value) + 1 {
		task.Env[fmt.Sprintf("A%d", cut)], task.Env[fmt.Sprintf("B%d", cut)] = value[:cut], value[cut:]
	}
	if err := syscall.Mkfifo(filepath.Join(task.Dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Open for reading and writing, so that a write waits for the next reader.
	goOn, err := os.OpenFile(filepath.Join(task.Dir, "go"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = goOn.Close() }()
	_, result := background(context.Background(), t, e, task)
	for cut := range len(value) + 1 {
		awaitText(t, task.Log, fmt.Sprintf("cut at %d\n", cut))
		if _, err := goOn.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := result(); !got.Succeeded() {
		t.Errorf("got %+v", got)
	}
	if got := logOf(t, task); got != want.String() {
		t.Errorf("log: %q, want %q", got, want.String())
	}
}

// awaitText waits until a file has a text in it.
func awaitText(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) {
			return
		}
	}
	t.Fatalf("%q was not written to %s", text, path)
}
