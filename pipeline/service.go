package pipeline

import (
	"iter"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// serviceBlock is a service as the file has it.
type serviceBlock struct {
	name    string
	block   *hclsyntax.Block
	process process
	ready   *readyBlock
	restart *retryBlock
	stop    *argument
	scope   *argument
}

// readyBlock is the ready block of a service.
type readyBlock struct {
	block    *hclsyntax.Block
	checks   []*argument // of tcp, http, log and command, those that are given
	interval *argument
	timeout  *argument
}

var serviceSchema = &hcl.BodySchema{
	Attributes: append(attributes(processAttributes...), attributes("stop", "scope")...),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "ready"}, {Type: "restart"}},
}

var readySchema = &hcl.BodySchema{Attributes: attributes("tcp", "http", "log", "command", "interval", "timeout")}

func (d *decoder) decodeService(block *hclsyntax.Block) *serviceBlock {
	content := d.content(block.Body, serviceSchema)
	s := &serviceBlock{
		name:    d.identifier(block),
		block:   block,
		process: d.decodeProcess(content, block.DefRange()),
		ready:   d.decodeReady(d.single(content, "ready")),
		restart: d.decodeRetry(d.single(content, "restart")),
		stop:    d.argument(content, "stop"),
		scope:   d.argument(content, "scope"),
	}
	if !s.process.exists() && !saidUnderOtherName(block.Body, "script") {
		d.report("Missing command", `A service needs a "command" or a "script" that runs until it is stopped.`, block.DefRange())
	}
	return s
}

func (d *decoder) decodeReady(block *hclsyntax.Block) *readyBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, readySchema)
	r := &readyBlock{block: block, interval: d.argument(content, "interval"), timeout: d.argument(content, "timeout")}
	for _, name := range []string{"tcp", "http", "log", "command"} {
		if a := d.argument(content, name); a != nil {
			r.checks = append(r.checks, a)
		}
	}
	if len(r.checks) != 1 {
		d.report("Unclear readiness", `A ready block has exactly one of "tcp", "http", "log" and "command".`, block.DefRange())
	}
	return r
}

// ServiceScope says how long a service runs.
type ServiceScope string

// The scopes of services.
const (
	ServicePipeline ServiceScope = "pipeline" // until the run ends
	ServicePhase    ServiceScope = "phase"    // until the phase ends in which it was started
)

// Service is a process that runs beside the workstreams that need it.
type Service struct {
	Name    string
	Scope   ServiceScope
	Restart Retry     // how often it is started again after it has ended by itself
	Ready   *Ready    // nil: it is ready when it has started
	Needs   []string  // the services that it refers to, which come before it in the file
	Range   hcl.Range // of the block

	process *processDef
	ready   *processDef // the command of Ready
	stop    *processDef
	scope   *scope
}

// Ready says when a service is ready.
type Ready struct {
	Kind     ReadyKind
	Interval time.Duration // between two checks
	Timeout  time.Duration // after which the service has failed to start

	check *argument
}

// ReadyKind is the way in which Runner finds out that a service is ready.
type ReadyKind string

// The kinds of checks.
const (
	ReadyTCP     ReadyKind = "tcp"     // the port accepts connections
	ReadyHTTP    ReadyKind = "http"    // a GET of the URL gives a status below 400
	ReadyLog     ReadyKind = "log"     // its output has a line with the text
	ReadyCommand ReadyKind = "command" // the command exits with 0
)

const (
	defaultReadyInterval = 100 * time.Millisecond
	defaultReadyTimeout  = time.Minute
)

// Service returns the service with the given name, or nil.
func (p *Pipeline) Service(name string) *Service {
	if i := slices.IndexFunc(p.Services, func(s *Service) bool { return s.Name == name }); i >= 0 {
		return p.Services[i]
	}
	return nil
}

// buildServices evaluates the services, as far as their values are known before anything runs.
func (b *builder) buildServices(blocks []*serviceBlock, defaults *defaultsDef) {
	for _, block := range blocks {
		if first := b.pipeline.Service(block.name); first != nil {
			b.errorf("Duplicate service name", block.block.LabelRanges[0], "The name %q is already taken by the service at line %d; rename one of them.", block.name, first.Range.Start.Line)
			continue
		}
		fr := constantFrame(noEach)
		s := &Service{
			Name: block.name, Range: block.block.DefRange(), scope: b.scope,
			Scope:   oneOf(b, block.scope, fr, ServicePipeline, ServicePipeline, ServicePhase),
			Restart: b.buildRetry(block.restart, noRetry, fr),
			process: b.newProcessDef(block.process, defaults),
		}
		b.pipeline.Services = append(b.pipeline.Services, s) // a service may refer to itself
		b.scope.services[s.Name] = s
		surroundings := process{dirs: s.process.dirs, env: s.process.env}
		if block.stop != nil {
			s.stop = b.newProcessDef(surroundings.running(block.stop), nil)
		}
		if block.ready != nil && len(block.ready.checks) == 1 {
			b.buildReady(s, block.ready, surroundings)
		}
		for _, p := range []*processDef{s.process, s.stop, s.ready} {
			if p != nil {
				b.checkProcess(p, serviceFrame())
				s.Needs = appendNew(s.Needs, servicesIn(p.arguments))
			}
		}
		s.Needs = slices.DeleteFunc(s.Needs, func(name string) bool { return name == s.Name })
		b.checkServiceScope(s)
	}
}

// checkServiceScope reports a service that ends before one that needs it.
func (b *builder) checkServiceScope(s *Service) {
	for _, name := range s.Needs {
		if need := b.pipeline.Service(name); need != nil && need.Scope == ServicePhase && s.Scope == ServicePipeline {
			b.errorf("Service that ends too early", s.Range, `The service %s runs until the run ends, and needs %s, which ends with a phase. Give both the same "scope".`, s.Name, name)
		}
	}
}

// running returns the process with a command.
func (p process) running(command *argument) process {
	p.command = command
	return p
}

func (b *builder) buildReady(s *Service, block *readyBlock, surroundings process) {
	fr := constantFrame(noEach)
	check := block.checks[0]
	s.Ready = &Ready{Kind: ReadyKind(check.name), check: check, Interval: b.duration(block.interval, fr), Timeout: b.duration(block.timeout, fr)}
	if s.Ready.Interval == 0 {
		s.Ready.Interval = defaultReadyInterval
	}
	if s.Ready.Timeout == 0 {
		s.Ready.Timeout = defaultReadyTimeout
	}
	switch s.Ready.Kind {
	case ReadyCommand:
		s.ready = b.newProcessDef(surroundings.running(check), nil)
	case ReadyTCP:
		if !b.boolean(check, fr) {
			b.errorf("Unclear readiness", check.exprRange(), "Write tcp = true: the service is ready when the port service.%s.port accepts connections.", s.Name)
		}
	case ReadyHTTP, ReadyLog:
		if b.checkArgument(check, serviceFrame()) {
			b.evaluateOnce(check, serviceFrame(), cty.String)
		}
	}
}

// serviceFrame returns the values that a service may use.
func serviceFrame() frame {
	return frame{
		allow:     kindVar | kindLocal | kindPipeline | kindRun | kindService,
		noResults: "A service is started for several workstreams, and only their own arguments can use results",
	}
}

// processFrame returns the values that a process may use beside those of other expressions.
func processFrame(fr frame) frame {
	fr.allow |= kindService
	return fr
}

// servicesIn lists the services that arguments refer to.
func servicesIn(arguments iter.Seq[*argument]) []string {
	var names []string
	for a := range arguments {
		for _, ref := range a.refs {
			if ref.kind == kindService && ref.name != "" {
				names = appendNew(names, []string{ref.name})
			}
		}
	}
	return names
}

// neededServices returns the services that a process needs: those in a list of references,
// and those to which its arguments refer.
func (b *builder) neededServices(references []*argument, p *processDef) []string {
	names := appendNew(b.serviceNames(references), servicesIn(p.arguments))
	for _, name := range names {
		b.used.services[name] = true
	}
	return names
}

// serviceNames resolves a list of references to services.
func (b *builder) serviceNames(references []*argument) []string {
	var names []string
	for _, a := range references {
		name := a.refs[0].name
		if b.pipeline.Service(name) == nil {
			b.errorf("Unknown service", a.exprRange(), "The pipeline declares no service %q.%s", name, suggest.DidYouMean(name, b.pipeline.serviceNames()))
			continue
		}
		names = appendNew(names, []string{name})
	}
	return names
}

func (p *Pipeline) serviceNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range p.Services {
			if !yield(s.Name) {
				return
			}
		}
	}
}

// serviceValue returns the object `service`. Like run.*, it never counts in a digest.
func serviceValue(a *argument, results *Results, v view) cty.Value {
	values := map[string]cty.Value{}
	for _, ref := range a.refs {
		if ref.kind != kindService || ref.name == "" {
			continue
		}
		port := cty.UnknownVal(cty.Number)
		switch {
		case v == viewPlaceholder:
			port = cty.NumberIntVal(1)
		case results != nil:
			port = cty.NumberIntVal(int64(results.port(ref.name)))
		}
		values[ref.name] = cty.ObjectVal(map[string]cty.Value{"port": port})
	}
	return cty.ObjectVal(values)
}

// port returns the port of a service, 0 if it was not started yet.
func (r *Results) port(service string) int {
	if r.Port == nil {
		return 0
	}
	return r.Port(service)
}

// Invocation evaluates the process of the service.
func (s *Service) Invocation(r Results) (Invocation, hcl.Diagnostics) {
	return s.process.invocation(s.frame(&r))
}

// Secrets lists the secrets that the processes of the service need.
func (s *Service) Secrets() []string {
	var names []string
	for _, p := range []*processDef{s.process, s.ready, s.stop} {
		if p != nil {
			names = appendNew(names, p.secrets)
		}
	}
	return names
}

// HasStop reports whether a command stops the service.
func (s *Service) HasStop() bool { return s.stop != nil }

// Stop evaluates the command that stops the service. It returns false if there is none.
func (s *Service) Stop(r Results) (Invocation, bool, hcl.Diagnostics) {
	if s.stop == nil {
		return Invocation{}, false, nil
	}
	inv, diags := s.stop.invocation(s.frame(&r))
	return inv, !diags.HasErrors(), diags
}

// ReadyCommand evaluates the command that checks whether the service is ready.
func (s *Service) ReadyCommand(r Results) (Invocation, hcl.Diagnostics) {
	return s.ready.invocation(s.frame(&r))
}

// ReadyText evaluates the URL or the text by which the service is ready.
func (s *Service) ReadyText(r Results) (string, hcl.Diagnostics) {
	value, diags := s.scope.evaluate(s.Ready.check, s.frame(&r), cty.String)
	if diags.HasErrors() {
		return "", diags
	}
	if value, _ = withoutMarks(value); value.IsNull() || !value.IsKnown() {
		return "", hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Incorrect value type", Detail: "A text is needed, not null.", Subject: s.Ready.check.exprRange().Ptr()}}
	}
	return value.AsString(), nil
}

func (s *Service) frame(r *Results) frame {
	fr := serviceFrame()
	fr.results = r
	return fr
}

func (b *builder) checkServiceName(ref reference, failed func(summary, detail string, args ...any) *hcl.Diagnostic) *hcl.Diagnostic {
	if b.pipeline.Service(ref.name) == nil {
		return failed("Unknown service", "The pipeline declares no service %q that stands before this.%s", ref.name, suggest.DidYouMean(ref.name, b.pipeline.serviceNames()))
	}
	if attr, _, ok := ref.attribute(); !ok || attr != "port" {
		return failed("Unknown reference", "A service has nothing but a port; write service.%s.port.", ref.name)
	}
	return nil
}

// withNeeds returns services with those that they need, directly or through others.
func (s *scope) withNeeds(names []string) []string {
	all := slices.Clone(names)
	for i := 0; i < len(all); i++ {
		all = appendNew(all, s.services[all[i]].Needs)
	}
	return all
}

// addServices adds the services that a process needs to its digest: with another service, it
// may come to another result.
func (s *scope) addServices(h *hasher, names []string, r Results) hcl.Diagnostics {
	for _, name := range s.withNeeds(names) {
		inv, diags := s.services[name].Invocation(r)
		if diags.HasErrors() {
			return diags
		}
		h.writeField("service "+name, inv.Definition)
	}
	return nil
}

// serviceParts returns the definitions of services, to be compared with an earlier version.
func (s *scope) serviceParts(names []string, r Results) []part {
	var parts []part
	for _, name := range s.withNeeds(names) {
		service := s.services[name]
		for _, p := range service.process.definitionParts(service.frame(&r)) {
			p.name = "service." + name + "." + p.name
			parts = append(parts, p)
		}
	}
	return parts
}
