package trace

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protowire"
)

// collector is an OTLP receiver that keeps the requests as JSON. .ci/collector is the real one,
// which a test of cmd/runner starts.
type collector struct {
	*httptest.Server
	t        *testing.T
	mu       sync.Mutex
	requests []any
	headers  []http.Header
	answer   func(w http.ResponseWriter, r *http.Request) // nil: it takes everything
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			c.t.Error(err)
			return
		}
		body = unpacked
	}
	data, err := io.ReadAll(body)
	if err != nil {
		c.t.Error(err)
	}
	var request any
	switch r.Header.Get("Content-Type") {
	case "application/json":
		if err := json.Unmarshal(data, &request); err != nil {
			c.t.Errorf("%v: %s", err, data)
		}
	case "application/x-protobuf":
		request = decode(c.t, data, "request")
	default:
		c.t.Errorf("content type %s", r.Header.Get("Content-Type"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.headers = append(c.requests, request), append(c.headers, r.Header)
	if c.answer != nil {
		c.answer(w, r)
	}
}

// fields describes messages of OTLP: for each the name and the type of its fields, by number. The
// types are those of JSON: hex and decimal are strings; + is a list.
var fields = map[string]map[protowire.Number][2]string{
	"request":   {1: {"resourceSpans", "+resources"}},
	"resources": {1: {"resource", "resource"}, 2: {"scopeSpans", "+scoped"}},
	"resource":  {1: {"attributes", "+attribute"}},
	"scoped":    {1: {"scope", "scope"}, 2: {"spans", "+span"}},
	"scope":     {1: {"name", "string"}, 2: {"version", "string"}},
	"attribute": {1: {"key", "string"}, 2: {"value", "value"}},
	"value":     {1: {"stringValue", "string"}, 2: {"boolValue", "bool"}, 3: {"intValue", "decimal"}},
	"event":     {1: {"timeUnixNano", "decimal"}, 2: {"name", "string"}, 3: {"attributes", "+attribute"}},
	"link":      {1: {"traceId", "hex"}, 2: {"spanId", "hex"}, 4: {"attributes", "+attribute"}},
	"status":    {2: {"message", "string"}, 3: {"code", "number"}},
	"span": {
		1: {"traceId", "hex"}, 2: {"spanId", "hex"}, 3: {"traceState", "string"}, 4: {"parentSpanId", "hex"}, 5: {"name", "string"}, 6: {"kind", "number"},
		7: {"startTimeUnixNano", "decimal"}, 8: {"endTimeUnixNano", "decimal"}, 9: {"attributes", "+attribute"}, 11: {"events", "+event"},
		12: {"droppedEventsCount", "number"}, 13: {"links", "+link"}, 15: {"status", "status"},
	},
}

// decode returns a message in the form that its JSON has.
func decode(t *testing.T, b []byte, message string) any {
	t.Helper()
	decoded := map[string]any{}
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		length := protowire.ConsumeFieldValue(number, typ, b[max(0, n):])
		field, known := fields[message][number]
		if n < 0 || length < 0 || !known {
			t.Fatalf("field %d of %s: %x", number, message, b)
		}
		raw := b[n : n+length]
		b = b[n+length:]
		if typ == protowire.BytesType {
			raw, _ = protowire.ConsumeBytes(raw)
		}
		name, kind := field[0], field[1]
		if kind[0] == '+' {
			all, _ := decoded[name].([]any)
			decoded[name] = append(all, decode(t, raw, kind[1:]))
			continue
		}
		decoded[name] = decodeValue(t, raw, typ, kind)
	}
	return decoded
}

func decodeValue(t *testing.T, raw []byte, typ protowire.Type, kind string) any {
	t.Helper()
	var n uint64
	switch typ {
	case protowire.VarintType:
		n, _ = protowire.ConsumeVarint(raw)
	case protowire.Fixed64Type:
		n = binary.LittleEndian.Uint64(raw)
	}
	switch kind {
	case "string":
		return string(raw)
	case "hex":
		return hex.EncodeToString(raw)
	case "bool":
		return n == 1
	case "number":
		return float64(n)
	case "decimal":
		return strconv.FormatInt(int64(n), 10)
	}
	return decode(t, raw, kind)
}

// sent returns all spans that arrived, as JSON of one request.
func (c *collector) sent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, err := json.MarshalIndent(c.requests, "", "  ")
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data) + "\n"
}

// process returns the variables that name the collector, and others.
func (c *collector) process(variables map[string]string) Process {
	all := maps.Clone(variables)
	if all == nil {
		all = map[string]string{}
	}
	if !slices.Contains(slices.Collect(maps.Keys(all)), commonEndpoint) {
		all[commonEndpoint] = c.URL
	}
	return Process{Lookup: func(name string) string { return all[name] }}
}

// received returns how many requests arrived, and the headers of the first.
func (c *collector) received() (int, http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.headers) == 0 {
		return 0, nil
	}
	return len(c.headers), c.headers[0].Clone()
}
