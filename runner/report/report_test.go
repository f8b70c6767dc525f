package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func line(key, value string) string {
	return fmt.Sprintf(`{"type":"state","key":%q,"value":%q}`, key, value)
}

// written is a file that a test writes and reads.
type written struct {
	*testing.T
	path string
}

func newWritten(t *testing.T) *written {
	return &written{T: t, path: filepath.Join(t.TempDir(), "a.1.report")}
}

func (w *written) append(text string) {
	w.Helper()
	f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.Fatal(err)
	}
}

// read reads to the end and returns the keys with their lines, and the refusals.
func (w *written) read(r *Reader, last bool) (keys []string, refused []state.RefusedReports) {
	w.Helper()
	for more := true; more; {
		var b Batch
		b, more = r.Read(last)
		for _, n := range b.Reports {
			keys = append(keys, fmt.Sprintf("%d:%s", n.Line, n.Key))
		}
		refused = append(refused, b.Refused...)
	}
	return keys, refused
}

func (w *written) want(r *Reader, last bool, want ...string) {
	w.Helper()
	keys, refused := w.read(r, last)
	if len(refused) > 0 {
		w.Errorf("refused %+v", refused)
	}
	if !cmp.Equal(keys, want) {
		w.Errorf("read %v, want %v", keys, want)
	}
}

// TestReadOn: complete lines are read as they are written, an incomplete one when its end is
// there, or at the end of the attempt.
func TestReadOn(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	r := NewReader(w.path, 0)
	defer r.Close()
	w.want(r, false)
	w.append(line("a", "1") + "\n\n" + line("b", "2") + "\r\n" + line("c", "3")[:9])
	w.want(r, false, "1:a", "3:b")
	w.want(r, false)
	w.append(line("c", "3")[9:])
	w.want(r, false)
	w.append("\n" + line("d", "4"))
	w.want(r, false, "4:c")
	w.want(r, true, "5:d")
}

// TestSplitAnywhere: where the writes are split makes no difference.
func TestSplitAnywhere(t *testing.T) {
	t.Parallel()
	whole := line("a", "1") + "\nnonsense\n" + line("b", "2") + "\n"
	for at := range len(whole) {
		w := newWritten(t)
		r := NewReader(w.path, 0)
		w.append(whole[:at])
		first, refusedFirst := w.read(r, false)
		w.append(whole[at:])
		second, refusedSecond := w.read(r, true)
		if got := append(first, second...); !cmp.Equal(got, []string{"1:a", "3:b"}) {
			t.Errorf("split at %d: %v", at, got)
		}
		if refused := append(refusedFirst, refusedSecond...); len(refused) != 1 || refused[0].Line != 2 {
			t.Errorf("split at %d: refused %v", at, refused)
		}
		r.Close()
	}
}

// TestSkip: lines that an earlier run recorded are passed over, but counted.
func TestSkip(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	w.append("nonsense\n" + line("a", "1") + "\n" + line("b", "2") + "\n")
	r := NewReader(w.path, 2)
	defer r.Close()
	w.want(r, true, "3:b")
}

// TestLog: in a log, only lines with the prefix are reports, and only these are counted,
// however long the others are.
func TestLog(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*ledger.MaxLine)
	w := newWritten(t)
	r := NewLogReader(w.path)
	defer r.Close()
	w.append("hello\n" + Prefix + line("a", "1") + "\n " + Prefix + line("no", "") + "\n" + long + "\n" + long)
	w.want(r, false, "1:a")
	w.append(Prefix + line("no", "") + "\n" + Prefix + " " + line("b", "2") + "\n" + Prefix[:4])
	w.want(r, false, "2:b")
	w.append(Prefix[4:] + line("c", "3"))
	w.want(r, true, "3:c")
}

// TestRefused: a line that is no report is refused with its number, and the next ones are
// read.
func TestRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*ledger.MaxLine)
	for name, c := range map[string]struct {
		text string
		want []state.RefusedReports
	}{
		"not JSON":           {text: "a\n", want: []state.RefusedReports{{Line: 1, Reason: "it is not a JSON object: invalid character 'a' looking for beginning of value"}}},
		"the same in a row":  {text: "a\na\na\n", want: []state.RefusedReports{{Line: 1, More: 2, Reason: "it is not a JSON object: invalid character 'a' looking for beginning of value"}}},
		"too long":           {text: long + "\n", want: []state.RefusedReports{{Line: 1, Reason: "it is longer than 64 KiB"}}},
		"too long and last":  {text: line("z", "") + "\n" + long, want: []state.RefusedReports{{Line: 2, Reason: "it is longer than 64 KiB"}}},
		"too long in a log":  {text: Prefix + long + "\n", want: []state.RefusedReports{{Line: 1, Reason: "it is longer than 64 KiB"}}},
		"empty line in logs": {text: Prefix + "\n", want: []state.RefusedReports{{Line: 1, Reason: "it is not a JSON object: unexpected end of JSON input"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWritten(t)
			r := NewReader(w.path, 0)
			if strings.HasSuffix(name, "logs") || strings.HasSuffix(name, "log") {
				r = NewLogReader(w.path)
			}
			defer r.Close()
			w.append(c.text)
			_, refused := w.read(r, true)
			if diff := cmp.Diff(c.want, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusalsAreBounded: of very many lines that are refused, the first hundred are listed.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "{\"type\":\"t%d\"}\n", i)
	}
	w.append(b.String() + line("a", "1") + "\n")
	r := NewReader(w.path, 0)
	defer r.Close()
	keys, refused := w.read(r, true)
	if !cmp.Equal(keys, []string{"5001:a"}) {
		t.Errorf("read %v", keys)
	}
	if last := refused[len(refused)-1]; len(refused) != maxRefusals+1 || last.Line != maxRefusals+1 || !strings.Contains(string(last.Reason), "not listed") {
		t.Errorf("%d refusals, the last is %+v", len(refused), last)
	}
}

// TestTotalIsBounded: an attempt that reports without an end is not read without an end.
func TestTotalIsBounded(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	r := NewReader(w.path, 0)
	defer r.Close()
	r.total = maxTotal - 100
	w.append(line("a", "1") + "\n" + line("b", strings.Repeat("x", 100)) + "\n" + line("c", "3") + "\n")
	keys, refused := w.read(r, false)
	if !cmp.Equal(keys, []string{"1:a"}) || len(refused) == 0 || !strings.Contains(string(refused[0].Reason), "more than 64 MiB") {
		t.Errorf("read %v, refused %v", keys, refused)
	}
	w.append(line("d", "4") + "\n")
	if keys, refused := w.read(r, true); len(keys)+len(refused) > 0 {
		t.Errorf("after that, read %v, refused %v", keys, refused)
	}
}

// TestTruncatedAndReplaced: a file that is written anew is read from its beginning, and one
// that another takes the place of is read to its end first.
func TestTruncatedAndReplaced(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	r := NewReader(w.path, 0)
	defer r.Close()
	w.append(line("a", "1") + "\n" + line("b", "2") + "\n")
	w.want(r, false, "1:a", "2:b")
	if err := os.WriteFile(w.path, []byte(line("c", "3")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.want(r, false, "3:c")
	w.append(line("d", "4") + "\n")
	if err := os.Rename(w.path, w.path+".old"); err != nil {
		t.Fatal(err)
	}
	w.append(line("e", "5") + "\n")
	w.want(r, false, "4:d", "5:e")
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.want(r, true)
}

// TestNoRegularFile: what is no regular file is refused and not read.
func TestNoRegularFile(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	if err := os.Mkdir(w.path, 0o700); err != nil {
		t.Fatal(err)
	}
	r := NewReader(w.path, 0)
	defer r.Close()
	if _, refused := w.read(r, false); len(refused) != 1 || !strings.Contains(string(refused[0].Reason), "not a regular file") {
		t.Errorf("refused %v", refused)
	}
	if keys, refused := w.read(r, true); len(keys)+len(refused) > 0 {
		t.Errorf("it is read again: %v, %v", keys, refused)
	}
}

// TestFollow: what is written is delivered while the attempt runs, and the rest when it
// ends.
func TestFollow(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	synctest.Test(t, func(t *testing.T) {
		var got []string
		f := Follow(NewReader(w.path, 0), func(b Batch) {
			for _, n := range b.Reports {
				got = append(got, n.Key)
			}
		})
		for i, wait := range []time.Duration{idleInterval, busyInterval, 3 * time.Second} {
			w.append(line(fmt.Sprint(i), "") + "\n")
			time.Sleep(wait)
			synctest.Wait()
			if len(got) != i+1 {
				t.Fatalf("%v after line %d, %v is delivered", wait, i, got)
			}
		}
		w.append(line("rest", ""))
		f.Stop()
		if !cmp.Equal(got, []string{"0", "1", "2", "rest"}) {
			t.Errorf("delivered %v", got)
		}
	})
}

// TestSend: a process waits for the acknowledgement of its report, and learns of a refusal.
func TestSend(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"", "it was captured already"} {
		w := newWritten(t)
		f := Follow(NewReader(w.path, 0), func(b Batch) {
			for _, n := range b.Reports {
				if err := WriteAck(AckPath(w.path, n.Ack), reason); err != nil {
					t.Error(err)
				}
			}
		})
		err := Send(t.Context(), w.path, ledger.Report{Type: ledger.TypeCheckpoint})
		f.Stop()
		var refused *RefusedError
		if reason == "" && err != nil || reason != "" && (!errors.As(err, &refused) || refused.Error() != reason) {
			t.Errorf("with the answer %q: %v", reason, err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(w.path), "*.ack*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Send(ctx, newWritten(t).path, ledger.Report{Type: ledger.TypeCheckpoint}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// BenchmarkRead reads ten thousand lines.
func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.1.report")
	text := strings.Repeat(line("key", "a value of some length")+"\n", 10_000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r := NewReader(path, 0)
		for more := true; more; {
			_, more = r.Read(true)
		}
		r.Close()
	}
}
