package trace

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings say whether, where and how traces are sent. Read returns them.
type Settings struct {
	endpoint  *url.URL
	headers   http.Header
	timeout   time.Duration // of a request with all its tries, and of the last flush
	delay     time.Duration // the most that a span waits for others
	json      bool          // OTLP/JSON instead of protobuf
	gzip      bool
	tls       *tls.Config // nil: as usual
	resource  []attribute
	sampler   sampler
	propagate bool
	hasState  bool        // TRACESTATE is set
	parent    spanContext // of the root span; zero: it has none
}

// The defaults of OpenTelemetry.
const (
	defaultTimeout = 10 * time.Second
	defaultDelay   = 5 * time.Second
	defaultService = "runner"
	tracesPath     = "v1/traces"
)

// The protocols of OTLP.
const (
	protocolProtobuf = "http/protobuf"
	protocolJSON     = "http/json"
)

// Process is what the settings are read from.
type Process struct {
	Lookup   func(variable string) string // "": it is not set
	ReadFile func(path string) ([]byte, error)
}

// reading reads settings. It collects what is wrong with variables.
type reading struct {
	Process
	problems []string
}

// Read reads the settings from the variables of OpenTelemetry. It returns nil if they ask for no
// traces, and what is wrong with variables, for the user. A variable with a mistake is ignored,
// unless the traces could then go where they must not.
func Read(p Process) (s *Settings, problems []string) {
	r := &reading{Process: p}
	endpoint, variable := r.option("ENDPOINT"), r.variable("ENDPOINT")
	if endpoint == "" || r.isTrue("OTEL_SDK_DISABLED") || p.Lookup("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	s, err := r.settings(endpoint, variable)
	if err != nil {
		return nil, append(r.problems, "no traces are sent: "+err.Error())
	}
	return s, r.problems
}

func (r *reading) settings(endpoint, variable string) (*Settings, error) {
	s := &Settings{timeout: r.milliseconds("TIMEOUT", defaultTimeout), delay: defaultDelay, resource: r.resource()}
	if exporter := r.Lookup("OTEL_TRACES_EXPORTER"); exporter != "" && !slices.Contains(list(exporter), "otlp") {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %s; Runner has only otlp", exporter)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s must be a URL such as http://localhost:4318", variable) // it may hold a password
	}
	if variable == commonEndpoint {
		u = u.JoinPath(tracesPath)
	}
	s.endpoint = u
	switch protocol := r.option("PROTOCOL"); protocol {
	case "", protocolProtobuf:
	case protocolJSON:
		s.json = true
	default:
		return nil, fmt.Errorf("the protocol of %s is %s; Runner has %s and %s, for which collectors listen on port 4318", r.variable("PROTOCOL"), protocol, protocolProtobuf, protocolJSON)
	}
	switch compression := r.option("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		r.problem("COMPRESSION", "must be gzip or none, not "+compression)
	}
	if s.tls, err = r.certificates(); err != nil {
		return nil, err
	}
	s.headers = r.headers()
	s.sampler = r.sampler()
	r.readParent(s)
	return s, nil
}

const commonEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

// variable returns the variable that has an option of the exporter: that for traces if it is set, else
// that for all signals.
func (r *reading) variable(name string) string {
	if own := "OTEL_EXPORTER_OTLP_TRACES_" + name; r.Lookup(own) != "" {
		return own
	}
	return "OTEL_EXPORTER_OTLP_" + name
}

// option returns the value of an option of the exporter.
func (r *reading) option(name string) string { return r.Lookup(r.variable(name)) }

// problem adds what is wrong with an option of the exporter.
func (r *reading) problem(name, what string) {
	r.problems = append(r.problems, r.variable(name)+" "+what)
}

func (r *reading) isTrue(variable string) bool { return strings.EqualFold(r.Lookup(variable), "true") }

func (r *reading) milliseconds(name string, standard time.Duration) time.Duration {
	value := r.option(name)
	if value == "" {
		return standard
	}
	ms, err := strconv.ParseInt(value, 10, 32)
	if err != nil || ms <= 0 {
		r.problem(name, fmt.Sprintf("must be a number of milliseconds, not %s; it is taken as %d", value, standard.Milliseconds()))
		return standard
	}
	return time.Duration(ms) * time.Millisecond
}

// headers reads NAME=value,NAME=value, whose values are percent-encoded. Messages name no value,
// since most are credentials.
func (r *reading) headers() http.Header {
	headers, bad := http.Header{}, false
	for _, pair := range list(r.option("HEADERS")) {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " \t:") {
			bad = true
			continue
		}
		headers.Set(name, value)
	}
	if bad {
		r.problem("HEADERS", "must be a list NAME=value,NAME=value with percent-encoded values; what is no such pair is left out")
	}
	return headers
}

// resource returns the attributes of OTEL_RESOURCE_ATTRIBUTES, with the name of the service first.
func (r *reading) resource() []attribute {
	service := r.Lookup("OTEL_SERVICE_NAME")
	var others []attribute
	for _, pair := range list(r.Lookup("OTEL_RESOURCE_ATTRIBUTES")) {
		key, value, found := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		switch {
		case !found || key == "" || err != nil: // OpenTelemetry has all be discarded then
			r.problems = append(r.problems, "OTEL_RESOURCE_ATTRIBUTES must be a list NAME=value,NAME=value with percent-encoded values; it is ignored")
			return []attribute{text("service.name", orDefault(service))}
		case key == "service.name" && service == "":
			service = decoded
		case key != "service.name":
			others = append(others, text(key, decoded))
		}
	}
	return append([]attribute{text("service.name", orDefault(service))}, others...)
}

func orDefault(service string) string {
	if service == "" {
		return defaultService
	}
	return service
}

// certificates returns the TLS settings of OTEL_EXPORTER_OTLP_CERTIFICATE, CLIENT_CERTIFICATE
// and CLIENT_KEY, nil if none is set. Without what they name, nothing may be sent.
func (r *reading) certificates() (*tls.Config, error) {
	roots, certificate, key := r.option("CERTIFICATE"), r.option("CLIENT_CERTIFICATE"), r.option("CLIENT_KEY")
	if roots+certificate+key == "" {
		return nil, nil //nolint:nilnil // documented above
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if roots != "" {
		pem, err := r.ReadFile(roots)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s, which OTEL_EXPORTER_OTLP_CERTIFICATE names, has no certificate in PEM", roots)
		}
	}
	if certificate+key != "" {
		public, err := r.ReadFile(certificate)
		private, keyErr := r.ReadFile(key)
		if err := errors.Join(err, keyErr); err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and CLIENT_KEY: %w", err)
		}
		pair, err := tls.X509KeyPair(public, private)
		if err != nil {
			return nil, fmt.Errorf("use OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// readParent reads the span that the root span of the run is below, if the variables name one and
// OTEL_PROPAGATORS has tracecontext.
func (r *reading) readParent(s *Settings) {
	propagators := r.Lookup("OTEL_PROPAGATORS")
	if s.propagate = propagators == "" || slices.Contains(list(propagators), "tracecontext"); !s.propagate {
		return
	}
	value, tracestate := r.Lookup("TRACEPARENT"), r.Lookup("TRACESTATE")
	s.hasState = tracestate != ""
	if value == "" {
		return
	}
	parent, ok := parseTraceparent(value)
	if !ok {
		r.problems = append(r.problems, "TRACEPARENT is no traceparent of W3C Trace Context, and is ignored")
		return
	}
	parent.state = clean(tracestate)
	s.parent = parent
}

// list splits a list at its commas. It leaves out empty entries.
func list(s string) []string {
	var all []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
