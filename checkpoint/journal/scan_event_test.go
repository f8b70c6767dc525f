package journal

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
)

// scanned are events that a journal has thousands of, with all that is read
// without encoding/json.
func scanned() []state.Event {
	digest := state.Digest{
		Definition: "sha256:" + Genesis, Inputs: "sha256:" + Genesis, Upstream: "sha256:" + Genesis,
		Variables: map[string]string{"a": "sha256:" + Genesis, `b "c"`: "sensitive"},
		Files:     []state.FileRef{{Path: "größe.sql", Digest: "sha256:" + Genesis}, {Path: `a\b`}},
		Results:   map[string]string{`service["player"]`: "sha256:" + Genesis},
	}
	work := state.Work{
		Attempt: 2, DurationMS: 3, Digest: digest, Outputs: map[string]state.Text{"a": "", "b": "x"},
		Artifacts: []state.Artifact{{Path: "gen/a.go", Size: 1 << 40, Mode: 0o644, Digest: "sha256:" + Genesis}, {Path: "gen/b"}},
		Summary:   "made", Location: "https://example.com/?a=b",
	}
	return []state.Event{
		state.WorkstreamStarted{Workstream: `service["player"]`, Attempt: 1, Digest: digest},
		state.WorkstreamStarted{Workstream: "WS1"},
		state.WorkstreamStarted{Workstream: "WS1", Digest: state.Digest{Seen: &state.Seen{
			Seq: 3, Files: []state.SeenFile{{Path: "gen/a.go", Mode: 0o644, Digest: "sha256:" + Genesis}},
		}}},
		state.WorkstreamStarted{Workstream: "WS1", Digest: state.Digest{Seen: &state.Seen{Seq: 3}}},
		state.WorkstreamSucceeded{Workstream: "WS1", Work: work},
		state.WorkstreamCompleted{Workstream: "WS1", Work: &work},
		state.WorkstreamCompleted{Workstream: "WS1"},
		state.GateStarted{Gate: "lint (WS1)", Attempt: 7},
		state.GatePassed{Verdict: state.Verdict{Gate: "lint (WS1)", Definition: "sha256:" + Genesis, Judged: "sha256:" + Genesis}, DurationMS: 12},
		state.CheckpointCreated{ID: "CP-1", Trigger: state.TriggerStart},
		state.CheckpointCreated{
			ID: "CP-2", Trigger: state.TriggerWorkstreamComplete, Phase: "all", Step: 4, StepName: "WS1", Reason: "why", Created: 1, Modified: 2,
			Git: &state.Git{Branch: "main", Commit: "abc"}, Removes: []string{"CP-0", "CP-1"},
		},
	}
}

// unscanned are events of the same kinds that are not of the usual form.
func unscanned() []string {
	return []string{
		`{"kind":"workstream.started","workstream":"a\u0041","attempt":1,"digest":{}}`,
		`{"kind":"workstream.started","workstream":"a","attempt":1,"digest":{"variables":{}}}`,
		`{"kind":"workstream.started","workstream":"a","attempt":1, "digest":{}}`,
		`{"kind":"workstream.started","attempt":1,"workstream":"a","digest":{}}`,
		`{"kind":"workstream.started","workstream":"a","workstream":"b","attempt":1,"digest":{}}`,
		`{"kind":"workstream.started","workstream":"a","attempt":01,"digest":{}}`,
		`{"kind":"workstream.started","workstream":"a","attempt":1e0,"digest":{}}`,
		`{"kind":"workstream.started","workstream":"a","attempt":99999999999999999999,"digest":{}}`,
		`{"kind":"workstream.started","workstream":"a","attempt":1,"digest":{,"inputs":"b"}}`,
		`{"kind":"workstream.started","workstream":"a","attempt":1,"digest":{"variables":{"a":"b"`,
		`{"kind":"workstream.started","workstream":"a","attempt":1,"digest":{"inputs":"b""upstream":"c"}}`,
		`{"kind":"workstream.started","workstream":"` + "\xff" + `","attempt":1,"digest":{}}`,
		`{"kind":"workstream.started","workstream":"` + "\x80" + `","attempt":1,"digest":{}}`,
		`{"kind":"workstream.completed","workstream":"a","work":{"attempt":1,"duration_ms":1,"digest":{},"metrics":{"m":1}}}`,
		`{"kind":"workstream.completed","workstream":"a","work":{"attempt":1,"duration_ms":1,"digest":{},"artifacts":[]}}`,
		`{"kind":"workstream.completed","workstream":"a","work":{"attempt":1,"duration_ms":1,"digest":{},"summary":{"base64":"/w=="}}}`,
		`{"kind":"gate.passed","gate":"a","definition":"b","judged":"c","value":1,"duration_ms":2}`,
		`{"kind":"checkpoint.created","id":"a","trigger":"start","step":1,"uncaptured":true}`,
		`{"kind":"checkpoint.created","after_ms":-3,"id":"a","trigger":"start","step":1}`,
		`{"kind":"checkpoint.created","id":"a","trigger":"start","step":1`,
		`{"kind":"workstream.started","workst`,
		`{"kind":"workstream.started",`,
		`{"kind":"workstream.started","workstream":"a","attempt":1,"digest":{"files":[{"path":"a"}`,
		`{"kind":"phase.started","phase":"a"}`,
	}
}

func TestUsualEventsAreScanned(t *testing.T) {
	t.Parallel()
	for _, want := range scanned() {
		data, err := MarshalEvent(want)
		if err != nil {
			t.Fatal(err)
		}
		event, _, size := scanEvent(append(data, ",{}"...))
		if size != len(data) {
			t.Errorf("%d of %d bytes of %s", size, len(data), data)
		}
		if diff := cmp.Diff(want, event); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
	}
	for _, data := range unscanned() {
		if event, _, _ := scanEvent([]byte(data)); event != nil {
			t.Errorf("%s: %+v", data, event)
		}
	}
}

// TestEventsWithoutFieldsAreJSON: an event without fields has nothing but its kind.
func TestEventsWithoutFieldsAreJSON(t *testing.T) {
	t.Parallel()
	const want = `{"kind":"session.completed"}`
	if data, err := MarshalEvent(state.SessionCompleted{}); err != nil || string(data) != want {
		t.Errorf("the event is %s, %v, want %s", data, err, want)
	}
}

// FuzzScanEvent: what is scanned is the event that encoding/json makes of it.
func FuzzScanEvent(f *testing.F) {
	for _, event := range scanned() {
		data, err := MarshalEvent(event)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, data := range unscanned() {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		event, after, size := scanEvent(data)
		if event == nil {
			return
		}
		if size != objectLen(data) {
			t.Fatalf("%d bytes scanned, of %d", size, objectLen(data))
		}
		want, wantAfter, err := decodeEvent(data[:size])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, event); diff != "" || after != wantAfter {
			t.Fatalf("after %d, not %d: %s", after, wantAfter, diff)
		}
	})
}
