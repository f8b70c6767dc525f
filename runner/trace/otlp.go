package trace

import (
	"strings"
	"time"
	"unicode/utf8"
)

// The messages of OTLP that a request with spans consists of, as far as Runner uses them:
// https://github.com/open-telemetry/opentelemetry-proto. Encoded by encoding/json they are
// OTLP/JSON; protobuf.go encodes them in binary.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope   `json:"scope"`
		Spans []*span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID       traceID     `json:"traceId"`
		SpanID        spanID      `json:"spanId"`
		TraceState    string      `json:"traceState,omitempty"`
		Parent        spanID      `json:"parentSpanId,omitzero"`
		Name          string      `json:"name"`
		Kind          kind        `json:"kind"`
		Start         nanoseconds `json:"startTimeUnixNano,string"`
		End           nanoseconds `json:"endTimeUnixNano,string"`
		Attributes    []attribute `json:"attributes,omitempty"`
		Events        []event     `json:"events,omitempty"`
		DroppedEvents int         `json:"droppedEventsCount,omitempty"`
		Links         []link      `json:"links,omitempty"`
		Status        status      `json:"status,omitzero"`
	}
	event struct {
		Time       nanoseconds `json:"timeUnixNano,string"`
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes,omitempty"`
	}
	link struct {
		TraceID    traceID     `json:"traceId"`
		SpanID     spanID      `json:"spanId"`
		Attributes []attribute `json:"attributes,omitempty"`
	}
	status struct {
		Message string     `json:"message,omitempty"`
		Code    statusCode `json:"code,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	// value is one of its fields; a nil pointer is another one.
	value struct {
		String *string `json:"stringValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
		Int    *int64  `json:"intValue,omitempty,string"`
	}
)

// kind says how a span relates to its parent.
type kind int

// The kinds that Runner uses.
const (
	internal kind = 1
	server   kind = 2
)

// statusCode says whether what a span is about succeeded.
type statusCode int

// The codes. Without one, the span says nothing about it.
const (
	codeOK    statusCode = 1
	codeError statusCode = 2
)

// nanoseconds is a moment, since 1970.
type nanoseconds uint64

func moment(t time.Time) nanoseconds { return nanoseconds(max(0, t.UnixNano())) } //nolint:gosec // it is not negative

// maxText bounds the bytes of a text in a span: messages of failures can be long.
const maxText = 1 << 10

func text(key, v string) attribute {
	v = clean(v)
	return attribute{key, value{String: &v}}
}

func number(key string, v int) attribute {
	n := int64(v)
	return attribute{key, value{Int: &n}}
}

func yes(key string) attribute {
	v := true
	return attribute{key, value{Bool: &v}}
}

// clean returns text as OTLP can hold it: valid UTF-8, not too long.
func clean(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
		for !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		s = s[:len(s)-1] + "…" // the last rune may be cut
	}
	return strings.ToValidUTF8(s, "�")
}
