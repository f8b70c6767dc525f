package trace

import (
	"strings"
	"testing"
)

func TestParseTraceparent(t *testing.T) {
	t.Parallel()
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, want := range map[string]string{
		"00-" + trace + "-" + span + "-01":                    "00-" + trace + "-" + span + "-01",
		"00-" + trace + "-" + span + "-00":                    "00-" + trace + "-" + span + "-00",
		"00-" + trace + "-" + span + "-03":                    "00-" + trace + "-" + span + "-01",
		"cc-" + trace + "-" + span + "-01":                    "00-" + trace + "-" + span + "-01",
		"cc-" + trace + "-" + span + "-01-what":               "00-" + trace + "-" + span + "-01",
		"cc-" + trace + "-" + span + "-01what":                "",
		"00-" + trace + "-" + span + "-01-what":               "",
		"ff-" + trace + "-" + span + "-01":                    "",
		"0g-" + trace + "-" + span + "-01":                    "",
		"00-" + trace + "-" + span + "-0g":                    "",
		"00-" + trace + "-" + span:                            "",
		"00_" + trace + "-" + span + "-01":                    "",
		"00-" + trace + "_" + span + "-01":                    "",
		"00-" + trace + "-" + span + "_01":                    "",
		"00-g" + trace[1:] + "-" + span + "-01":               "",
		"00-" + trace + "-g" + span[1:] + "-01":               "",
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": "",
		"": "",
	} {
		got := ""
		if c, ok := parseTraceparent(text); ok {
			got = c.traceparent()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestBelow: each attempt has a span of its own, in the trace of the run, and the same one whenever
// it is asked for.
func TestBelow(t *testing.T) {
	t.Parallel()
	root := spanContext{trace: traceID{1}, span: spanID{2}, sampled: true, state: "a=b"}
	other := spanContext{trace: traceID{1}, span: spanID{3}, sampled: true}
	seen := map[spanID]string{root.span: "root"}
	for name, c := range map[string]spanContext{
		"first": root.below("WS1", 1), "second": root.below("WS1", 2), "another": root.below("WS2", 1), "number in the name": root.below("WS", 11), "other run": other.below("WS1", 1),
	} {
		if had, ok := seen[c.span]; ok {
			t.Errorf("%s has the span of %s", name, had)
		}
		if seen[c.span] = name; c.trace != root.trace || !c.sampled {
			t.Errorf("%s: %+v", name, c)
		}
	}
	again := spanContext{trace: traceID{1}, span: spanID{2}}
	if again.below("WS1", 1).span != root.below("WS1", 1).span {
		t.Error("the span of an attempt changes")
	}
}
