package document_test

import (
	"errors"
	"os"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
)

// FuzzDocument reads any bytes as a document. A valid document is imported or refused
// with ErrImport, and is still valid when it is written and read again.
func FuzzDocument(f *testing.F) {
	for _, dir := range []string{"valid", "invalid"} {
		for _, path := range fixtures(f, dir) {
			data, err := os.ReadFile(path)
			checkpointtest.Must(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := document.Decode(data)
		if err != nil || d.Validate(nil) != nil {
			return
		}
		again, err := d.Encode()
		checkpointtest.Must(t, err)
		decoded, err := document.Decode(again)
		checkpointtest.Must(t, err)
		checkpointtest.Must(t, decoded.Validate(nil))
		if d.Runner != nil && !decoded.Intact() {
			t.Fatal("the written document is not intact")
		}
		s := &state.State{}
		e := checkpointtest.Started("S1", checkpointtest.Cashier())
		e.Imported = &d.Document
		if err := s.Apply(state.Commit{Seq: 1, Time: checkpointtest.Clock()(), Events: []state.Event{e}}); err != nil {
			if !errors.Is(err, state.ErrImport) {
				t.Fatal(err)
			}
			return
		}
		if err := document.New(s).Validate(nil); err != nil {
			t.Fatal(err)
		}
	})
}
