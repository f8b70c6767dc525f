package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxAnswer bounds what is read of the answer of a collector.
const maxAnswer = 64 << 10

// The reasons why spans are lost that a collector does not tell.
var (
	errFull    = errors.New("it is too slow")
	errSilent  = errors.New("it does not answer in time")
	errStopped = errors.New("the wait for it was ended")
)

// client sends requests to a collector.
type client struct {
	settings *Settings
	resource resource
	scope    scope
	http     *http.Client
}

func newClient(s *Settings, r resource, sc scope) *client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.tls, ForceAttemptHTTP2: true, MaxIdleConns: 1, TLSHandshakeTimeout: s.timeout}
	return &client{settings: s, resource: r, scope: sc, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the headers may be credentials
	}}
}

// send sends spans in one request.
func (c *client) send(ctx context.Context, spans []*span) error {
	body, err := c.encode(request{[]resourceSpans{{c.resource, []scopeSpans{{c.scope, spans}}}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	req.Header = c.settings.headers.Clone()
	req.Header.Set("Content-Type", c.contentType())
	req.Header.Set("User-Agent", c.scope.Name+"/"+c.scope.Version)
	if c.settings.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := c.http.Do(req)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return errStopped
	case ctx.Err() != nil:
		return errSilent
	case err != nil:
		return &transientError{err: withoutURL(err)}
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return statusError(answer)
	case err != nil: // the spans have arrived
		return nil
	}
	return c.rejected(data)
}

func (c *client) contentType() string {
	if c.settings.json {
		return "application/json"
	}
	return "application/x-protobuf"
}

func (c *client) encode(r request) ([]byte, error) {
	var data []byte
	if c.settings.json {
		var err error
		if data, err = json.Marshal(r); err != nil {
			return nil, fmt.Errorf("encode spans: %w", err)
		}
	} else {
		data = r.protobuf()
	}
	if !c.settings.gzip {
		return data, nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compress spans: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress spans: %w", err)
	}
	return packed.Bytes(), nil
}

// withoutURL returns an error of package http without the URL that its message begins with, which
// may hold a password.
func withoutURL(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// transientError is a failure after which another try may succeed.
type transientError struct {
	after time.Duration // the time that the collector asks for
	err   error
}

func (e *transientError) Error() string { return e.err.Error() }

func (e *transientError) Unwrap() error { return e.err }

// retryAfter reports whether to try again after an error, and how long the collector has asked to
// wait.
func retryAfter(err error) (time.Duration, bool) {
	if transient := (*transientError)(nil); errors.As(err, &transient) {
		return transient.after, true
	}
	return 0, false
}

// statusError returns the error that the status of an answer is.
func statusError(answer *http.Response) error {
	err := fmt.Errorf("it answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return &transientError{time.Duration(max(0, seconds)) * time.Second, err}
	}
	return err
}

// rejectedError says that the collector has taken only some of the spans.
type rejectedError struct {
	spans   int
	message string
}

func (e *rejectedError) Error() string { return "it rejects them: " + e.message }

// rejected returns a *rejectedError if the answer of a collector says that it has taken only some
// of the spans.
func (c *client) rejected(answer []byte) error {
	var partial rejectedError
	if c.settings.json {
		var decoded struct {
			PartialSuccess struct {
				RejectedSpans json.Number `json:"rejectedSpans"`
				ErrorMessage  string      `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		_ = json.Unmarshal(answer, &decoded) // an answer that says nothing says that all arrived
		n, _ := decoded.PartialSuccess.RejectedSpans.Int64()
		partial = rejectedError{int(n), decoded.PartialSuccess.ErrorMessage}
	} else {
		eachField(answer, func(field protowire.Number, _ uint64, message []byte) {
			if field == 1 {
				eachField(message, partial.set)
			}
		})
	}
	if partial.spans <= 0 {
		return nil
	}
	partial.message = clean(partial.message)
	return &partial
}

// set takes a field of ExportTracePartialSuccess.
func (e *rejectedError) set(field protowire.Number, n uint64, text []byte) {
	switch field {
	case 1:
		e.spans = int(min(n, maxBatch)) //nolint:gosec // it is small
	case 2:
		e.message = string(text)
	}
}

// eachField calls f for each field of a message that is a number or has bytes.
func eachField(b []byte, f func(field protowire.Number, n uint64, bytes []byte)) {
	for len(b) > 0 {
		field, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		length := protowire.ConsumeFieldValue(field, typ, b[n:])
		if length < 0 {
			return
		}
		switch typ {
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(b[n:])
			f(field, v, nil)
		case protowire.BytesType:
			v, _ := protowire.ConsumeBytes(b[n:])
			f(field, 0, v)
		}
		b = b[n+length:]
	}
}
