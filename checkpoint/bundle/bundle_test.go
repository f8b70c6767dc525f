package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"prdrunner/checkpoint/store"
)

func TestMain(m *testing.M) {
	// What is random is the same in every run, unless a flag says otherwise.
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func formats() map[string]Format {
	return map[string]Format{"tar": Tar, "tar.gz": Gzip, "tar.zst": Zstd}
}

const sampleHeader = `{ "prd": "PRD-009", "note": "<ä> & b" }`

// samples has what a tar stream treats in different ways: no bytes, a whole
// block, more than one, a name that is too long for ustar.
func samples() map[string]string {
	return map[string]string{
		"journal.jsonl":                          "{\"seq\":1}\n",
		"logs/WS1.1.log":                         "",
		"logs/service%5B%22a%22%5D":              strings.Repeat("line\n", 400),
		"objects/ab/" + strings.Repeat("c", 200): strings.Repeat("\x00\xff", 256),
	}
}

// small is little enough to be read once for each of its bytes.
func small() map[string]string {
	return map[string]string{"a": "hello", "logs/b": strings.Repeat("line\n", 30)}
}

func entriesOf(files map[string]string) []Entry {
	var all []Entry
	for name, data := range files { // in random order, on purpose
		all = append(all, Entry{Name: name, Size: int64(len(data)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(data)), nil
		}})
	}
	return all
}

func written(t testing.TB, format Format, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	s, err := Write(t.Context(), &b, format, json.RawMessage(sampleHeader), entriesOf(files))
	must(t, err)
	sum := sha256.Sum256(b.Bytes())
	if s.SHA256 != hex.EncodeToString(sum[:]) || s.Size != int64(b.Len()) || s.Members != len(files) {
		t.Errorf("summary %+v of %d bytes with the sum %x", s, b.Len(), sum)
	}
	return b.Bytes()
}

func contentOf(t testing.TB, s *Staged) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, m := range s.Members {
		r, err := s.Open(m.Name)
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		must(t, r.Close())
		files[m.Name] = string(data)
	}
	return files
}

func places(t testing.TB) map[string]func() (store.FS, string) {
	return map[string]func() (store.FS, string){
		"os":     func() (store.FS, string) { return store.OS(), filepath.Join(t.TempDir(), "in") },
		"memory": func() (store.FS, string) { return store.NewMemory(), "/in" },
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for ext, format := range formats() {
		if got, ok := FormatOf("PRD-009." + ext); !ok || got != format {
			t.Errorf("%s is format %d, %t", ext, got, ok)
		}
		for place, fresh := range places(t) {
			fsys, dir := fresh()
			s, err := Stage(t.Context(), fsys, dir, bytes.NewReader(written(t, format, samples())), Limits{})
			if err != nil {
				t.Errorf("%s on %s: %v", ext, place, err)
				continue
			}
			if want := `{"prd":"PRD-009","note":"<ä> & b"}`; string(s.Header) != want {
				t.Errorf("%s: header %s, want %s", ext, s.Header, want)
			}
			if diff := cmp.Diff(samples(), contentOf(t, s)); diff != "" {
				t.Errorf("%s on %s:\n%s", ext, place, diff)
			}
			must(t, s.Remove())
			must(t, s.Remove())
			if _, err := fsys.Lstat(dir); err == nil {
				t.Errorf("%s on %s: still there", ext, place)
			}
		}
	}
}

func TestRoundTripOfAnything(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[A-Za-z0-9_%-][A-Za-z0-9._%-]{0,120}(/[A-Za-z0-9_%-][A-Za-z0-9._%-]{0,120}){0,4}`)
	rapid.Check(t, func(rt *rapid.T) {
		format := rapid.SampledFrom([]Format{Tar, Gzip, Zstd}).Draw(rt, "format")
		files := rapid.MapOf(name, rapid.StringN(-1, -1, 2000)).Draw(rt, "files")
		var b bytes.Buffer
		if _, err := Write(t.Context(), &b, format, json.RawMessage(`{}`), entriesOf(files)); err != nil {
			var bad *NameError
			if !asError(err, &bad) || bad.Detail != "it lies in another member" {
				rt.Fatal(err)
			}
			return
		}
		s, err := Stage(t.Context(), store.NewMemory(), "/in", &b, Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(files, contentOf(t, s)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestDeterministic: neither the order of the entries nor the pieces in which
// their bytes come show in the archive.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	files := samples()
	files["large"] = strings.Repeat("0123456789abcdef\n", 20_000)
	readers := []func(io.Reader) io.Reader{
		iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader, func(r io.Reader) io.Reader { return r },
	}
	for ext, format := range formats() {
		want := written(t, format, files)
		for i, wrap := range readers {
			entries := entriesOf(files)
			for j, e := range entries {
				entries[j].Open = func() (io.ReadCloser, error) {
					r, err := e.Open()
					return struct {
						io.Reader
						io.Closer
					}{wrap(r), r}, err
				}
			}
			var b bytes.Buffer
			_, err := Write(t.Context(), &b, format, json.RawMessage(sampleHeader), entries)
			must(t, err)
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s: other bytes with reader %d", ext, i)
			}
		}
	}
}

// TestFixedBytes compares with archives of format 1.0 that were written once.
// If only the compressed ones differ after a new version of the compressor,
// new fixtures may be added; the old ones must still be read. The tar stream
// must never differ, since readers compare with it.
func TestFixedBytes(t *testing.T) {
	t.Parallel()
	for ext, format := range formats() {
		path := filepath.Join("testdata", "1.0."+ext)
		fixed, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Equal(written(t, format, samples()), fixed) {
			t.Errorf("%s is no longer what is written", path)
		}
		s, err := Stage(t.Context(), store.NewMemory(), "/in", bytes.NewReader(fixed), Limits{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if diff := cmp.Diff(samples(), contentOf(t, s)); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	// Sizes from 8 GiB on do not fit into a ustar header.
	header, err := tarHeader("large", 9<<30)
	must(t, err)
	const want = "a2a19c813c7f8364088db43b79a172e933e15e2fe8e013fd12f2efb4a85e7269"
	if got := sha256.Sum256(header); hex.EncodeToString(got[:]) != want {
		t.Errorf("the header of a large member has the sum %x", got)
	}
}

// TestOthersCanReadIt: an archive is a tar file for everybody.
func TestOthersCanReadIt(t *testing.T) {
	t.Parallel()
	r := tar.NewReader(bytes.NewReader(written(t, Tar, samples())))
	files := map[string]string{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		files[h.Name] = string(data)
	}
	var table struct {
		FormatVersion string          `json:"format_version"`
		Header        json.RawMessage `json:"header"`
		Members       []Member        `json:"members"`
	}
	must(t, json.Unmarshal([]byte(files[tableName]), &table))
	if table.FormatVersion != "1.0" || len(table.Members) != len(files)-1 {
		t.Errorf("table %+v", table)
	}
	delete(files, tableName)
	if diff := cmp.Diff(samples(), files); diff != "" {
		t.Error(diff)
	}
}

// TestOthersMayCompressIt: how the tar stream is compressed is not part of the
// format.
func TestOthersMayCompressIt(t *testing.T) {
	t.Parallel()
	plain := written(t, Tar, samples())
	var b bytes.Buffer
	gz, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	must(t, err)
	gz.Name, gz.Comment, gz.OS = "export.tar", "by hand", 3
	_, err = gz.Write(plain)
	must(t, err)
	must(t, gz.Close())
	_, err = Verify(t.Context(), &b, Limits{})
	must(t, err)
	for _, option := range []zstd.EOption{
		zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8 << 20),
	} {
		b.Reset()
		z, err := zstd.NewWriter(&b, option, zstd.WithEncoderConcurrency(1))
		must(t, err)
		_, err = z.Write(plain)
		must(t, err)
		must(t, z.Close())
		_, err = Verify(t.Context(), &b, Limits{})
		must(t, err)
	}
}
