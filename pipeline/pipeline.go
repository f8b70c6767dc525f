// Package pipeline is the language of Runner: it turns the bytes of an HCL file into a
// validated Pipeline. SPEC.md in this directory is the manual of the language. Package
// pipeline knows neither the run nor the state; package runner does.
//
// The way of the data is
//
//	bytes → Parse → *File → (*File).Pipeline(Inputs) → *Pipeline
//
// A File is syntax: blocks, expressions and their source ranges. It may have mistakes,
// so that an editor can work with half a pipeline. A Pipeline is the evaluated file:
// for_each is expanded into instances, references are resolved, durations and globs are
// checked. Deferred expressions, which need results of earlier workstreams, are
// evaluated later by methods such as Invocation, Enabled and Condition, which take
// Results.
//
// Every mistake of an author is an hcl.Diagnostic, never a plain error.
//
// Each block of the language is one file of this package with the name of the block,
// such as gate.go or retry.go. It holds the block as parsed (gateBlock), its schema, its
// decode function, and the function that evaluates it (a method of builder). To add a
// block, begin with SPEC.md and its example, write such a file, and call the decode
// function from the file of the enclosing block. Each new diagnostic needs a file in
// testdata/invalid. The type that callers see goes into pipeline.go.
//
// Other places to start: file.go parses, include.go reads included files, build.go
// evaluates, check.go and depends.go check references and their order, overlap.go finds
// artifacts that overlap (the rules of globs are in package glob), file_reads.go decides when
// functions may read artifacts (the functions are in packages files and functions),
// secrecy.go holds sensitive values, digest.go digests, and explain*.go the differences
// between two versions of a file. Package diagnostics shows mistakes to people and programs.
package pipeline

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Pipeline is a validated pipeline. It is immutable and safe for concurrent use, but for
// AddFindingGates.
type Pipeline struct {
	ID         string // the PRD id, the label of the pipeline block
	Title      string
	Type       string        // a free label: orchestrate, implement …
	Document   string        // path of the requirements document, relative to the workspace; "" if there is none
	Timeout    time.Duration // of the session; 0 if there is none
	Budget     *Budget       // of the session; nil if there is none
	Review     *Review       // before the first phase; nil if there is none
	Issue      *Issue        // nil if there is none
	Agents     []*Agent      // those of the pipeline block first
	Savepoints []*Savepoint  // in the order of the file
	Services   []*Service    // in the order of the file
	Phases     []*Phase      // in the order in which they run
	Hooks      []*Hook
	Secrets    []Secret // every value of a sensitive variable, for masking
	EnvFiles   []string // the dotenv files of all processes, sorted
	// SecretSources say where the values of secrets come from, in the order of the file.
	SecretSources []*SecretSource
	Source        string   // name of the file
	Sources       []string // paths of the files that it includes and calls, sorted
	// SourcePatterns are the glob.Patterns of the globs of these files.
	SourcePatterns []string
	// PossiblePatterns match the artifacts whose globs depend on elements or variables that are
	// not known yet, and may match more.
	PossiblePatterns []string
	// Called are the pipelines that its workstreams call, as far as they are known without
	// results. They say which files called pipelines read and make.
	Called []*Pipeline
	// Digest is "sha256:…" of the file's bytes, and of the paths and bytes of the files that
	// it includes and calls.
	Digest string
	Range  hcl.Range

	sensitiveOutputs bool        // a workstream has some
	outputs          *outputsDef // nil: it has none

	file      *File
	scope     *scope
	byName    map[string]*Workstream
	fannedOut []*workstreamDef   // blocks whose for_each uses results, in the order of the file
	elements  map[string]*fanOut // the known elements of each such for_each, by block
	variables map[string]*variable
	inputs    Inputs // the values with which the file was evaluated
	source    []byte
}

// HasSecrets reports whether a process may know a sensitive value.
func (p *Pipeline) HasSecrets() bool {
	return len(p.Secrets)+len(p.EnvFiles) > 0 || p.LearnsSecrets()
}

// LearnsSecrets reports whether a run gets sensitive values that are not known when it
// begins: of secrets, or of outputs.
func (p *Pipeline) LearnsSecrets() bool { return len(p.SecretSources) > 0 || p.sensitiveOutputs }

// Sensitive lists what holds sensitive values: variables, dotenv files, and secrets.
func (p *Pipeline) Sensitive() []string {
	var names []string
	for _, s := range p.Secrets {
		if !slices.Contains(names, s.Variable) {
			names = append(names, s.Variable)
		}
	}
	names = append(names, p.EnvFiles...)
	for _, s := range p.SecretSources {
		names = append(names, secretPrefix+s.Name)
	}
	return names
}

// Workstream returns the instance with the given name, or nil.
func (p *Pipeline) Workstream(name string) *Workstream { return p.byName[name] }

// Gate returns the gate with the given label, or nil.
func (p *Pipeline) Gate(label string) *Gate {
	among := func(gates []*Gate) *Gate {
		if i := slices.IndexFunc(gates, func(g *Gate) bool { return g.Label() == label }); i >= 0 {
			return gates[i]
		}
		return nil
	}
	for _, phase := range p.Phases {
		if g := among(phase.Gates); g != nil {
			return g
		}
		for _, ws := range phase.Workstreams {
			if g := among(ws.Gates); g != nil {
				return g
			}
		}
	}
	return nil
}

// Secret is a sensitive text that must never be shown or stored.
type Secret struct {
	Variable string
	Value    string
}

// Phase is an ordered stage of a pipeline.
type Phase struct {
	Name        string
	Title       string  // default: the name
	Number      int     // 1-based
	MaxParallel int     // 0: no limit
	RunOn       RunOn   // how the phases before must have ended
	FailFast    bool    // a failure keeps other workstreams of the phase from starting; the default
	Repeat      *Repeat // nil: the phase does not repeat
	Budget      *Budget // nil: there is none
	Workstreams []*Workstream
	Gates       []*Gate // gates of the phase, without those of its workstreams
	Range       hcl.Range

	when *deferred
}

// Workstream is an instance of a workstream block. A block without for_each has one
// instance.
type Workstream struct {
	Name        string // `WS1`, or `service["player"]`
	Block       string // the label of the block: `WS1`, `service`
	Key         string // the for_each key; "" without for_each
	Title       string // default: the name
	Description string
	Agent       *Agent // nil: no agent does it
	TaskBy      TaskBy // how the text of its task reaches the process
	Phase       *Phase

	// DependsOn lists the instances that must complete before this one starts, in the
	// order of the file. Only those of the same phase delay it, because earlier phases
	// have completed.
	DependsOn []string
	// Upstream lists DependsOn and the instances whose results the expressions use,
	// without duplicates. They count in the digest.
	Upstream []string
	// Answers lists the labels of the gates whose inputs the expressions use.
	Answers []string
	// Batch is the depth in the dependency graph of the phase, from 1.
	Batch int

	// RunOn says what must have become of DependsOn.
	RunOn RunOn
	// AllowFailure is true if a failure is a result like another: what depends on the
	// workstream runs, and the session can complete.
	AllowFailure bool
	// FailFast is true if a failure of the workstream keeps others from starting. It is the
	// default.
	FailFast bool

	Inputs    []string // globs as in the file, relative to the workspace, with slashes
	Artifacts []string // globs, in the same form
	// InputPatterns and ArtifactPatterns are the glob.Patterns of these globs.
	InputPatterns    []string
	ArtifactPatterns []string

	// Calls is the file of the pipeline that the workstream runs in place of a command,
	// relative to the workspace, and CallLevels how many levels of calls there are from it on.
	Calls      string
	CallLevels int

	Timeout  time.Duration
	Retry    Retry
	Effect   Effect
	Services []string // those that must be ready before it starts
	Gates    []*Gate  // shared gates and those of the block, in the order in which they are judged

	// RerunOnGateFailure means on_gate_failure = "rerun". A workstream has it, too, if a
	// failure of its gates takes back what it changed.
	RerunOnGateFailure bool
	// Mutates is true if the workstream says that it changes things that are not its
	// artifacts. Then it has Protect.
	Mutates bool
	Protect *Protect // what to take back if it fails; nil: nothing
	// Isolate says in which work tree of its own an attempt runs; nil: in the workspace.
	Isolate *Isolate
	// Cache is true if a recorded result from the same digest, of any session of the PRD,
	// may replace a run. Only a pure workstream has it.
	Cache bool
	// SensitiveOutputs names the outputs whose values must not be stored.
	SensitiveOutputs []string
	// ReportsOnStdout means report = "stdout": its reports are lines of its standard output.
	ReportsOnStdout bool
	Range           hcl.Range

	def *workstreamDef

	calledArtifacts [][]string // the lists of artifacts of the pipeline that it calls, and of those below
	each            *each      // noEach without for_each
	deps            []target   // DependsOn resolved, shared between instances
}

// Effect says what happens if a workstream runs twice.
type Effect string

// The effects of a workstream.
const (
	Idempotent Effect = "idempotent" // running again does no harm; the default
	Pure       Effect = "pure"       // idempotent, and it changes only its outputs and artifacts
	Once       Effect = "once"       // must not run again unless a person decides so
)

// Retry says how often a failed attempt is repeated, and after which pauses.
type Retry struct {
	Attempts        int // in all, at least 1
	InitialInterval time.Duration
	MaxInterval     time.Duration
	Multiplier      float64
	Jitter          float64 // 0 to 1, the randomization factor
	OnExitCodes     []int   // empty: every failure
}

// GateKind is the way in which a gate reaches its verdict.
type GateKind string

// The kinds of gate.
const (
	GateCommand   GateKind = "command" // a process that must exit 0
	GateCondition GateKind = "condition"
	GateMetric    GateKind = "metric"
	GateApproval  GateKind = "approval"
)

// Gate is a check of a workstream or phase that must pass.
type Gate struct {
	Name       string
	Kind       GateKind
	Phase      *Phase
	Workstream *Workstream // nil for a gate of a phase
	Inputs     []string    // globs of the files that it judges; SPEC.md says what it judges without any
	// InputPatterns are the glob.Patterns of Inputs.
	InputPatterns []string
	Pause         bool // stop for a review after the gate has passed
	Timeout       time.Duration
	Services      []string      // of a command gate: those that must be ready before it is judged
	Metric        *MetricRule   // of a metric gate
	Approval      *ApprovalRule // of an approval gate
	Range         hcl.Range

	ofFinding bool // it was added for a finding of the review
	def       *gateDef
}

// Label returns the name of the gate in the PRD document: `lint (WS3)`, and for a gate
// of a phase `sign-off (services)`.
func (g *Gate) Label() string {
	if g.Workstream != nil {
		return g.Name + " (" + g.Workstream.Name + ")"
	}
	return g.Name + " (" + g.Phase.Name + ")"
}

// MetricRule is the condition that a metric must meet. Nil bounds are not checked.
type MetricRule struct {
	Name    string
	Min     *json.Number // in the form of ParseNumber
	Max     *json.Number
	MaxDrop *json.Number // against the last complete session
	MaxRise *json.Number
	Equals  any // json.Number, bool or string; nil: not checked
}

// ApprovalRule is the question of an approval gate.
type ApprovalRule struct {
	Message   string
	Approvers []string      // empty: anyone may approve
	Timeout   time.Duration // 0: no timeout
	Inputs    []ApprovalInput
}

// HookEvent is an event after which a hook runs.
type HookEvent string

// The events after which hooks can run.
const (
	HookComplete    HookEvent = "complete"
	HookFailed      HookEvent = "failed"
	HookPaused      HookEvent = "paused"
	HookInterrupted HookEvent = "interrupted"
)

// Hook is a process that runs after each of some events, once the event is durable.
type Hook struct {
	On      []HookEvent // at least one
	Timeout time.Duration
	Retry   Retry
	Range   hcl.Range

	def *hookDef
}

// Results are the results so far, for expressions that need them. The functions must be
// safe for concurrent use.
type Results struct {
	// Workstream returns the result of an instance that has ended, and false if there is none.
	Workstream func(name string) (Result, bool)
	// Answer returns the answer to an approval that has passed or was skipped, by the label
	// of the gate, and false if there is none.
	Answer func(label string) (Answer, bool)
	// Restored opens artifacts, by path, that Runner will restore before anything runs.
	// Functions read these bytes instead of the file.
	Restored map[string]func() (io.ReadCloser, error)
	// Metrics are json.Number, bool or string values.
	Metrics map[string]any
	Run     RunInfo
	Issue   *IssueValues // nil: it is not known
	// Port returns the port of a service, 0 if it was not started yet; nil: none was.
	Port func(service string) int
	// Iteration returns the iteration of a phase that repeats; nil: each is in its first.
	Iteration func(phase string) int
	// Secret returns the value of a secret, and false if it is not resolved. Nil: none is.
	Secret func(name string) (string, bool)
	// Open makes missing results unknown. Otherwise a missing result is an error.
	Open bool
}

// Result is the result of a workstream that has ended. Only a completed one has outputs and
// artifacts.
type Result struct {
	Status    Status
	Outputs   map[string]string
	Sensitive map[string]string // the values of sensitive outputs, as far as they are known; Outputs has their names
	Artifacts []string          // paths, sorted
}

// IssueValues holds the values of issue.*.
type IssueValues struct {
	Number    int // 0: it has none
	Title     string
	Body      string
	Labels    []string
	Assignees []string
}

// RunInfo holds the values of run.*. It never counts in a digest.
type RunInfo struct {
	Session string
	Attempt int
	Resumed bool
}

// Invocation is a process to run, with all expressions evaluated.
type Invocation struct {
	Command []string          // argv; for a script, the shell and the text; nil for a call
	Call    *Called           // the pipeline to run in place of a command; nil: none
	Dir     string            // relative to the workspace; "" is the workspace
	Env     map[string]string // variables to add to the environment
	Task    string            // a text for the process, "" if there is none
	// Definition is "sha256:…" of everything that decides what the process does. A
	// sensitive value counts only by the name of its variable, and run.* does not count.
	Definition string
	// Range is the range in the file of the program of a command, or of the lines of a
	// script.
	Range hcl.Range
	// Hidden are sensitive values in Env that are not among the Secrets of the pipeline: those
	// of dotenv files, as they are now.
	Hidden []Secret
	// Unresolved lists the secrets and sensitive outputs that the process needs and that have
	// no value, as references. With one, the process must not be started; the Definition is
	// what it would be.
	Unresolved []string
	// EnvFileError says why a dotenv file can't be read now; nil: each can. The process must
	// not be started without its variables.
	EnvFileError *EnvFileError
}

// DeclaredArtifact returns the range in the file of the glob that declares an artifact.
func (w *Workstream) DeclaredArtifact(pattern string) hcl.Range {
	a := w.def.block.artifacts
	if i := slices.Index(w.Artifacts, pattern); i >= 0 && a != nil {
		return a.element(i, len(w.Artifacts))
	}
	return w.Range
}
