package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// traceID names a trace; zero: none. As JSON it is hexadecimal, as in OTLP/JSON.
type traceID [16]byte

// MarshalText implements encoding.TextMarshaler.
func (id traceID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// spanID names a span of a trace; zero: none.
type spanID [8]byte

// MarshalText implements encoding.TextMarshaler.
func (id spanID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// spanContext says where a span is: what W3C Trace Context hands on. The zero value is nowhere.
type spanContext struct {
	trace   traceID
	span    spanID
	sampled bool
	state   string // the tracestate
}

// The parts of a traceparent of version 00, and the end of each.
const (
	versionEnd     = 2
	traceEnd       = versionEnd + 1 + 32
	spanEnd        = traceEnd + 1 + 16
	flagsEnd       = spanEnd + 1 + 2
	invalidVersion = 0xff
	sampledFlag    = 0x01
)

// parseTraceparent reads a traceparent (https://www.w3.org/TR/trace-context/). It returns false
// for one that must be ignored. Of a later version it reads what version 00 has.
func parseTraceparent(s string) (spanContext, bool) {
	if len(s) < flagsEnd || strings.ToLower(s) != s || s[versionEnd] != '-' || s[traceEnd] != '-' || s[spanEnd] != '-' {
		return spanContext{}, false
	}
	version, err := strconv.ParseUint(s[:versionEnd], 16, 8)
	if err != nil || version == invalidVersion || version == 0 && len(s) != flagsEnd || len(s) > flagsEnd && s[flagsEnd] != '-' {
		return spanContext{}, false
	}
	var c spanContext
	_, badTrace := hex.Decode(c.trace[:], []byte(s[versionEnd+1:traceEnd]))
	_, badSpan := hex.Decode(c.span[:], []byte(s[traceEnd+1:spanEnd]))
	flags, badFlags := strconv.ParseUint(s[spanEnd+1:flagsEnd], 16, 8)
	if badTrace != nil || badSpan != nil || badFlags != nil || c.trace == (traceID{}) || c.span == (spanID{}) {
		return spanContext{}, false
	}
	c.sampled = flags&sampledFlag != 0
	return c, true
}

// traceparent is the context as a traceparent.
func (c spanContext) traceparent() string {
	flags := 0
	if c.sampled {
		flags = sampledFlag
	}
	return fmt.Sprintf("00-%x-%x-%02x", c.trace, c.span, flags)
}

// below returns the context of the span of an attempt, which follows from the root span: a process
// can be told of it before the start of the attempt is on record.
func (c spanContext) below(name string, attempt int) spanContext {
	sum := sha256.Sum256(fmt.Appendf(nil, "%x-%x-%d-%s", c.trace, c.span, attempt, name))
	c.span = spanID(sum[:len(c.span)])
	return c
}
