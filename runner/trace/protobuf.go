package trace

import "google.golang.org/protobuf/encoding/protowire"

// The numbers of the fields are those of opentelemetry/proto/trace/v1/trace.proto, and of
// common.proto and resource.proto beside it. Fields that are zero are left out.

// protobuf encodes a request in binary.
func (r request) protobuf() []byte {
	var b []byte
	for _, rs := range r.ResourceSpans {
		b = appendMessage(b, 1, func(b []byte) []byte {
			b = appendMessage(b, 1, func(b []byte) []byte { return appendAttributes(b, 1, rs.Resource.Attributes) })
			for _, ss := range rs.ScopeSpans {
				b = appendMessage(b, 2, ss.append)
			}
			return b
		})
	}
	return b
}

func (ss scopeSpans) append(b []byte) []byte {
	b = appendMessage(b, 1, func(b []byte) []byte {
		return appendText(appendText(b, 1, ss.Scope.Name), 2, ss.Scope.Version)
	})
	for _, s := range ss.Spans {
		b = appendMessage(b, 2, s.append)
	}
	return b
}

func (s *span) append(b []byte) []byte {
	b = appendBytes(b, 1, s.TraceID[:])
	b = appendBytes(b, 2, s.SpanID[:])
	b = appendText(b, 3, s.TraceState)
	if s.Parent != (spanID{}) {
		b = appendBytes(b, 4, s.Parent[:])
	}
	b = appendText(b, 5, s.Name)
	b = appendInt(b, 6, int64(s.Kind))
	b = appendTime(b, 7, s.Start)
	b = appendTime(b, 8, s.End)
	b = appendAttributes(b, 9, s.Attributes)
	for _, e := range s.Events {
		b = appendMessage(b, 11, func(b []byte) []byte {
			return appendAttributes(appendText(appendTime(b, 1, e.Time), 2, e.Name), 3, e.Attributes)
		})
	}
	b = appendInt(b, 12, int64(s.DroppedEvents))
	for _, l := range s.Links {
		b = appendMessage(b, 13, func(b []byte) []byte {
			return appendAttributes(appendBytes(appendBytes(b, 1, l.TraceID[:]), 2, l.SpanID[:]), 4, l.Attributes)
		})
	}
	if s.Status != (status{}) {
		b = appendMessage(b, 15, func(b []byte) []byte { return appendInt(appendText(b, 2, s.Status.Message), 3, int64(s.Status.Code)) })
	}
	return b
}

func appendAttributes(b []byte, field protowire.Number, all []attribute) []byte {
	for _, a := range all {
		b = appendMessage(b, field, func(b []byte) []byte {
			return appendMessage(appendText(b, 1, a.Key), 2, a.Value.append)
		})
	}
	return b
}

// append encodes a value. Which of its fields is there says what it is, so that zero is not left out.
func (v value) append(b []byte) []byte {
	switch {
	case v.String != nil:
		return appendBytes(b, 1, []byte(*v.String))
	case v.Bool != nil:
		return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), protowire.EncodeBool(*v.Bool))
	case v.Int != nil:
		return protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(*v.Int)) //nolint:gosec // two's complement is its encoding
	}
	return b
}

func appendMessage(b []byte, field protowire.Number, message func([]byte) []byte) []byte {
	return appendBytes(b, field, message(nil))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendText(b []byte, field protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v)) //nolint:gosec // two's complement is its encoding
}

func appendTime(b []byte, field protowire.Number, v nanoseconds) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(v))
}
