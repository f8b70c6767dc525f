package trace

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

// read reads settings from variables: NAME=value, without the prefix OTEL_.
func read(variables ...string) (*Settings, []string) {
	return Read(Process{
		Lookup: func(name string) string {
			for _, v := range variables {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
				if value, ok := strings.CutPrefix("OTEL_"+v, name+"="); ok {
					return value
				}
			}
			return ""
		},
		ReadFile: func(path string) ([]byte, error) {
			if path == "broken.pem" {
				return []byte("no PEM"), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
		},
	})
}

const at = "EXPORTER_OTLP_ENDPOINT=http://localhost:4318"

func TestReadOff(t *testing.T) {
	t.Parallel()
	for name, variables := range map[string][]string{
		"no endpoint": {"SERVICE_NAME=x", "TRACES_EXPORTER=otlp"},
		"disabled":    {at, "SDK_DISABLED=TRUE"},
		"no exporter": {at, "TRACES_EXPORTER=none"},
	} {
		if s, problems := read(variables...); s != nil || problems != nil {
			t.Errorf("%s: %+v, %q", name, s, problems)
		}
	}
}

// TestReadRefused holds what is not sent anywhere, with a message that has no secret in it.
func TestReadRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variables []string
		want      string
	}{
		{[]string{"EXPORTER_OTLP_ENDPOINT=localhost:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318"},
		{[]string{"EXPORTER_OTLP_TRACES_ENDPOINT=ftp://u:secret@x"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be a URL"},
		{[]string{"EXPORTER_OTLP_ENDPOINT=http://u:secret@[x"}, "must be a URL"},
		{[]string{at, "EXPORTER_OTLP_PROTOCOL=grpc"}, "is grpc; Runner has http/protobuf and http/json"},
		{[]string{at, "EXPORTER_OTLP_PROTOCOL=http/json", "EXPORTER_OTLP_TRACES_PROTOCOL=grpc"}, "is grpc"},
		{[]string{at, "TRACES_EXPORTER=zipkin"}, "OTEL_TRACES_EXPORTER is zipkin; Runner has only otlp"},
		{[]string{at, "EXPORTER_OTLP_CERTIFICATE=gone.pem"}, "gone.pem"},
		{[]string{at, "EXPORTER_OTLP_CERTIFICATE=broken.pem"}, "has no certificate in PEM"},
		{[]string{at, "EXPORTER_OTLP_CLIENT_CERTIFICATE=broken.pem", "EXPORTER_OTLP_CLIENT_KEY=broken.pem"}, "use OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		{[]string{at, "EXPORTER_OTLP_CLIENT_CERTIFICATE=gone.pem"}, "read OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
	} {
		s, problems := read(c.variables...)
		if s != nil || len(problems) != 1 || !strings.HasPrefix(problems[0], "no traces are sent: ") || !strings.Contains(problems[0], c.want) || strings.Contains(problems[0], "secret") {
			t.Errorf("%q: %+v, %q", c.variables, s, problems)
		}
	}
}

func TestReadEndpoint(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"EXPORTER_OTLP_ENDPOINT=http://localhost:4318":          "http://localhost:4318/v1/traces",
		"EXPORTER_OTLP_ENDPOINT=http://localhost:4318/":         "http://localhost:4318/v1/traces",
		"EXPORTER_OTLP_ENDPOINT=https://x/otlp?key=a":           "https://x/otlp/v1/traces?key=a",
		"EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost:4318":   "http://localhost:4318",
		"EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost:1/own/": "http://localhost:1/own/",
	} {
		s, problems := read(variable)
		if s == nil || s.endpoint.String() != want || len(problems) > 0 {
			t.Errorf("%s: %+v, %q", variable, s, problems)
		}
	}
	if s, _ := read(at, "EXPORTER_OTLP_TRACES_ENDPOINT=http://traces"); s.endpoint.Host != "traces" {
		t.Errorf("that for traces does not take precedence: %s", s.endpoint)
	}
}

func TestReadOptions(t *testing.T) {
	t.Parallel()
	s, problems := read(
		at, "EXPORTER_OTLP_HEADERS=a=1", "EXPORTER_OTLP_TRACES_HEADERS=authorization=Basic%20x%3D%3D , key = v=w", "EXPORTER_OTLP_TIMEOUT=1500",
		"EXPORTER_OTLP_COMPRESSION=gzip", "EXPORTER_OTLP_PROTOCOL=http/json", "TRACES_EXPORTER=console, otlp",
		"SERVICE_NAME=deploy", "RESOURCE_ATTRIBUTES=service.name=no,team=a%2Cb",
		"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "TRACESTATE=v=1",
	)
	if len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	if len(s.headers) != 2 || s.headers.Get("Authorization") != "Basic x==" || s.headers.Get("Key") != "v=w" {
		t.Errorf("headers %v", s.headers)
	}
	if s.timeout != 1500*time.Millisecond || !s.gzip || !s.json {
		t.Errorf("%+v", s)
	}
	if r := s.resource; len(r) != 2 || *r[0].Value.String != "deploy" || r[1].Key != "team" || *r[1].Value.String != "a,b" {
		t.Errorf("resource %+v", r)
	}
	if s.parent.traceparent() != "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" || s.parent.state != "v=1" || !s.propagate {
		t.Errorf("parent %+v", s.parent)
	}
	if s, _ := read(at, "PROPAGATORS=baggage, b3", "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"); s.propagate || s.parent.span != (spanID{}) {
		t.Errorf("without the propagator: %+v", s)
	}
	if s, _ := read(at, "RESOURCE_ATTRIBUTES=service.name=named"); len(s.resource) != 1 || *s.resource[0].Value.String != "named" {
		t.Errorf("resource %+v", s.resource)
	}
}

// TestReadMistakes holds which variables are ignored, and that the user is told.
func TestReadMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ variable, want string }{
		{"EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds, not 10s; it is taken as 10000"},
		{"EXPORTER_OTLP_TIMEOUT=-1", "milliseconds"},
		{"EXPORTER_OTLP_TIMEOUT=0", "milliseconds"},
		{"EXPORTER_OTLP_COMPRESSION=br", "OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none, not br"},
		{"EXPORTER_OTLP_HEADERS=secret", "OTEL_EXPORTER_OTLP_HEADERS must be a list"},
		{"EXPORTER_OTLP_HEADERS=a=%zzsecret", "OTEL_EXPORTER_OTLP_HEADERS must be a list"},
		{"EXPORTER_OTLP_HEADERS=a=secret%0Ab", "OTEL_EXPORTER_OTLP_HEADERS must be a list"},
		{"RESOURCE_ATTRIBUTES=a=1,b", "OTEL_RESOURCE_ATTRIBUTES must be a list"},
		{"TRACEPARENT=x", "TRACEPARENT is no traceparent"},
		{"TRACES_SAMPLER=jaeger_remote", "OTEL_TRACES_SAMPLER is jaeger_remote, which Runner does not have"},
	} {
		s, problems := read(at, c.variable)
		if s == nil || len(problems) != 1 || !strings.Contains(problems[0], c.want) || strings.Contains(problems[0], "secret") {
			t.Errorf("%s: %+v, %q", c.variable, s, problems)
			continue
		}
		if s.timeout != defaultTimeout || s.gzip || len(s.headers) > 0 || len(s.resource) != 1 || s.parent.span != (spanID{}) || !s.sampler.samples(traceID{9: 0xff}, spanContext{}) {
			t.Errorf("%s: %+v", c.variable, s)
		}
	}
}

func TestSampler(t *testing.T) {
	t.Parallel()
	low, high := traceID{15: 1}, traceID{8: 0xff}
	sampled, not := spanContext{span: spanID{1}, sampled: true}, spanContext{span: spanID{1}}
	for _, c := range []struct {
		variables []string
		trace     traceID
		parent    spanContext
		want      bool
	}{
		{nil, high, spanContext{}, true},
		{nil, high, sampled, true},
		{nil, high, not, false},
		{[]string{"TRACES_SAMPLER=always_on"}, high, not, true},
		{[]string{"TRACES_SAMPLER=always_off"}, low, sampled, false},
		{[]string{"TRACES_SAMPLER=parentbased_always_off"}, low, spanContext{}, false},
		{[]string{"TRACES_SAMPLER=parentbased_always_off"}, low, sampled, true},
		{[]string{"TRACES_SAMPLER=traceidratio", "TRACES_SAMPLER_ARG=0.5"}, low, not, true},
		{[]string{"TRACES_SAMPLER=traceidratio", "TRACES_SAMPLER_ARG=0.5"}, high, sampled, false},
		{[]string{"TRACES_SAMPLER=parentbased_traceidratio", "TRACES_SAMPLER_ARG=0.5"}, high, sampled, true},
		{[]string{"TRACES_SAMPLER=traceidratio"}, high, not, true},
		{[]string{"TRACES_SAMPLER=traceidratio", "TRACES_SAMPLER_ARG=2"}, high, not, true},
	} {
		s, _ := read(append(c.variables, at)...)
		if got := s.sampler.samples(c.trace, c.parent); got != c.want {
			t.Errorf("%q, trace %x, parent %+v: %t", c.variables, c.trace, c.parent, got)
		}
	}
}
