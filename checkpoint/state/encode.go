package state

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode writes a state as JSON, one workstream at a time: encoding/json keeps a second
// copy of everything that it encodes in one call.
func Encode(buf *bytes.Buffer, s *State) error {
	outer := *s
	outer.Phases = nil
	err := marshalAround(buf, &outer, `"phases":`, s.Phases != nil, func() error {
		return writeList(buf, s.Phases, func(p *Phase) error {
			inner := *p
			inner.Workstreams = nil
			return marshalAround(buf, &inner, `"workstreams":`, p.Workstreams != nil, func() error {
				return writeList(buf, p.Workstreams, func(w *Workstream) error { return marshalInto(buf, w) })
			})
		})
	})
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	return nil
}

// marshalAround writes a value and lets fill write the one field that is null in it. The
// search for the field cannot hit a text, since quotes in texts are escaped.
func marshalAround(buf *bytes.Buffer, v any, field string, has bool, fill func() error) error {
	if !has {
		return marshalInto(buf, v)
	}
	data, err := EncodeJSON(v)
	if err != nil {
		return err
	}
	before, after, found := bytes.Cut(data, []byte(field+"null"))
	if !found {
		return fmt.Errorf("it has no field %s", field)
	}
	buf.Write(before)
	buf.WriteString(field)
	if err := fill(); err != nil {
		return err
	}
	buf.Write(after)
	return nil
}

func writeList[T any](buf *bytes.Buffer, list []T, write func(T) error) error {
	buf.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := write(v); err != nil {
			return err
		}
	}
	buf.WriteByte(']')
	return nil
}

// TypicalSize returns about how many bytes a state has as JSON, rounded up so that a
// buffer seldom grows.
func TypicalSize(s *State) int {
	const session, workstream, artifact, modified = 4 << 10, 400, 200, 100
	size := session
	if s.WorkTree != nil {
		size += modified * len(s.WorkTree.Modified)
	}
	for w := range s.Records() {
		size += workstream + artifact*(len(w.Artifacts)+len(w.LeftFiles())+len(w.HeldFiles()))
	}
	return size
}

// EncodeJSON is json.Marshal without the escapes for HTML.
func EncodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	err := marshalInto(&buf, v)
	return buf.Bytes(), err
}

func marshalInto(buf *bytes.Buffer, v any) error {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	buf.Truncate(buf.Len() - len("\n"))
	return nil
}
