// Command collector is the OpenTelemetry Collector that Runner's tests send traces to: its OTLP
// receiver, behind which a consumer prints each request in one line, as OTLP/JSON.
//
// It receives OTLP over HTTP on a free port of the loopback interface. Its first line of output
// is http://HOST:PORT. It ends when its standard input does. This is a module of its own, so that
// Runner does not depend on the collector's libraries. .ci/pipeline builds it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	printer := &printer{out: out}
	receiver, err := newReceiver(ctx, address, printer)
	if err != nil {
		return fmt.Errorf("make the receiver: %w", err)
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		return fmt.Errorf("start the receiver: %w", err)
	}
	printer.print("http://" + address)
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, receiver.Shutdown(ctx))
}

// freeAddress returns an address that no process listens on. The receiver does not tell which port
// it got for port 0.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// newReceiver returns an OTLP receiver that takes traces over HTTP only.
func newReceiver(ctx context.Context, address string, to *printer) (receiver.Traces, error) {
	factory := otlpreceiver.NewFactory()
	config, ok := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	if !ok {
		return nil, errors.New("its configuration has another type")
	}
	config.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = address
	traces, err := consumer.NewTraces(to.consume)
	if err != nil {
		return nil, err
	}
	return factory.CreateTraces(ctx, receiver.Settings{
		ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings(), BuildInfo: component.NewDefaultBuildInfo(),
	}, config, traces)
}

// printer prints lines, one at a time.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *printer) consume(_ context.Context, traces ptrace.Traces) error {
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		return err
	}
	p.print(string(line))
	return nil
}

func (p *printer) print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, line)
}
