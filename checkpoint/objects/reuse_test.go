package objects_test

import (
	"errors"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

// cutShort renames files, but syncs no directory, like a process that was killed.
type cutShort struct{ store.FS }

var errCut = errors.New("cut short")

func (cutShort) SyncDir(string) error { return errCut }

// TestBatchHas: an object that a batch finds in the store survives a power cut after the
// commit of the batch, even if the process that wrote the object was killed before its
// sync.
func TestBatchHas(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	must(t, store.MkdirAll(m, "/objects"))
	first := objects.New(cutShort{m}, "/objects", objects.Options{}).Begin()
	data := []byte("data")
	if _, err := first.Put(t.Context(), data); err == nil {
		if err := first.Commit(t.Context()); !errors.Is(err, errCut) {
			t.Fatalf("commit: %v", err)
		}
	} else if !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	s := objects.New(m, "/objects", objects.Options{})
	if there, _ := s.Has(digestOf(data)); !there {
		// The cut came too early and left no file: write the object by hand.
		b := s.Begin()
		_, err := b.Put(t.Context(), data)
		must(t, err)
		must(t, b.Commit(t.Context()))
	}
	b := objects.New(m, "/objects", objects.Options{}).Begin()
	for _, test := range []struct {
		ref  objects.Ref
		want bool
	}{
		{objects.Ref{Digest: digestOf(data), Size: 4}, true},
		{objects.Ref{Digest: digestOf(data), Size: 5}, false},
		{objects.Ref{Digest: digestOf([]byte("other")), Size: 5}, false},
	} {
		if there, err := b.Has(test.ref); err != nil || there != test.want {
			t.Errorf("%v: %v, %v", test.ref, there, err)
		}
	}
	if _, err := b.Has(objects.Ref{Digest: "sha256:../.."}); !errors.Is(err, objects.ErrDigest) {
		t.Errorf("no name: %v", err)
	}
	must(t, b.Commit(t.Context()))
	if there, err := objects.New(m.Crash(), "/objects", objects.Options{}).Has(digestOf(data)); err != nil || !there {
		t.Errorf("after a power cut: %v, %v", there, err)
	}
}

// TestCheckAll: for many objects, in any order and in both forms, CheckAll reports the
// same as Check for each, and stops at the first error of the callback.
func TestCheckAll(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		var refs []objects.Ref
		for i, o := range []objects.Options{{}, {Compress: true}} {
			b := objects.New(p.fs, p.dir, o).Begin()
			for n := range 20 {
				ref, err := b.Put(t.Context(), words(9000+100*n+i))
				must(t, err)
				refs = append(refs, ref, objects.Ref{Digest: ref.Digest, Size: ref.Size + 1}, objects.Ref{Digest: digestOf([]byte(ref.Digest))})
			}
			must(t, b.Commit(t.Context()))
		}
		refs = append(refs, objects.Ref{Digest: "sha256:../.."})
		calls := 0
		must(t, p.CheckAll(refs, func(i int, err error) error {
			want := p.Check(refs[i])
			if calls++; i != calls-1 || (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
				t.Errorf("%d: %v, want %v", i, err, want)
			}
			return nil
		}))
		if calls != len(refs) {
			t.Errorf("the callback was called for %d of %d objects", calls, len(refs))
		}
		if err := p.CheckAll(refs, func(int, error) error { return errCut }); !errors.Is(err, errCut) {
			t.Errorf("CheckAll ignored the error of the callback: %v", err)
		}
	})
}
