// Package pipeline is the language of Runner: it turns the bytes of an HCL
// file into a validated Pipeline.
//
// The way of the data is
//
//	bytes → Parse → *File → (*File).Pipeline(Inputs) → *Pipeline
//
// A File is the syntax: blocks, expressions and their source ranges. It
// survives mistakes, so that an editor can work with half a pipeline. A
// Pipeline is the meaning: instances of for_each made, references resolved,
// durations and globs checked. Expressions that need the result of an earlier
// workstream stay unevaluated in it until Invocation or Judge is called with
// that result.
//
// Everything an author can get wrong is an hcl.Diagnostic, never a plain
// error. The manual of the language is SPEC.md beside this file; each block of
// the language is one file of this package, named after the block.
package pipeline

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Pipeline is a validated pipeline. It is immutable and safe for concurrent use.
type Pipeline struct {
	ID       string // the PRD id, the label of the pipeline block
	Title    string
	Type     string        // a free label: orchestrate, implement …
	Document string        // path of the PRD document, relative to the workspace; "" if none
	Timeout  time.Duration // of the session; 0 is none
	Phases   []*Phase      // in the order in which they run
	Hooks    []*Hook
	Secrets  []Secret // every sensitive value, for masking
	Source   string   // name of the file
	Digest   string   // "sha256:…" of the file's bytes
	Range    hcl.Range

	byName    map[string]*Workstream
	variables map[string]*variable
	inputs    Inputs // that it was evaluated with
	source    []byte
}

// Workstream returns the instance with the given name, or nil.
func (p *Pipeline) Workstream(name string) *Workstream { return p.byName[name] }

// Secret is a sensitive text that must never be shown or stored.
type Secret struct {
	Variable string
	Value    string
}

// Phase is an ordered stage of a pipeline.
type Phase struct {
	Name        string
	Title       string // the name where none was given
	Number      int    // 1-based
	MaxParallel int    // 0: no limit of its own
	Workstreams []*Workstream
	Gates       []*Gate // the phase's own
	Range       hcl.Range

	when *deferred
}

// Workstream is one instance of a workstream block: the block itself, or, with
// for_each, one of its elements.
type Workstream struct {
	Name        string // `WS1`, or `service["player"]`
	Block       string // the label of the block: `WS1`, `service`
	Key         string // the for_each key, "" without
	Title       string // the name where none was given
	Description string
	Phase       *Phase

	// DependsOn are the names of the instances that must be complete before
	// this one starts, in the order of the file; only those of the same phase
	// hold it back, since earlier phases are complete anyway.
	DependsOn []string
	// Upstream are DependsOn and the instances whose results its expressions
	// use, without duplicates: what its digest takes in.
	Upstream []string
	// Batch is its depth in the dependency graph of its phase, from 1.
	Batch int

	Inputs    []string // globs, relative to the workspace, slash-separated, as the file has them
	Artifacts []string // likewise
	// InputPatterns and ArtifactPatterns are what these mean, as Patterns says it.
	InputPatterns    []string
	ArtifactPatterns []string

	Timeout time.Duration
	Retry   Retry
	Effect  Effect
	Gates   []*Gate // own and shared ones, in the order in which they are judged

	// RerunOnGateFailure is on_gate_failure = "rerun".
	RerunOnGateFailure bool
	// Cache says that a result on record from the same digest, of whatever session
	// of the PRD, stands for a run. Only a pure workstream has it.
	Cache bool
	Range hcl.Range

	def  *workstreamDef
	each *each    // noEach without for_each
	deps []target // what DependsOn means, shared between instances
}

// Effect says what running a workstream twice does.
type Effect string

// The effects of a workstream.
const (
	Idempotent Effect = "idempotent" // may run again; the default
	Pure       Effect = "pure"       // all it does is its outputs and artifacts
	Once       Effect = "once"       // must not run again unless a person says so
)

// Retry is how often, and after which pauses, a failed attempt is repeated.
type Retry struct {
	Attempts        int // in all, at least 1
	InitialInterval time.Duration
	MaxInterval     time.Duration
	Multiplier      float64
	Jitter          float64 // 0 to 1, the randomization factor
	OnExitCodes     []int   // empty: every failure
}

// GateKind is what a gate does to reach its verdict.
type GateKind string

// The kinds of gate.
const (
	GateCommand   GateKind = "command" // a process that must exit 0
	GateCondition GateKind = "condition"
	GateMetric    GateKind = "metric"
	GateApproval  GateKind = "approval"
)

// Gate is a check that must pass, of a workstream or of a phase.
type Gate struct {
	Name       string
	Kind       GateKind
	Phase      *Phase
	Workstream *Workstream // nil for a phase's own gate
	Inputs     []string    // globs of what it judges; empty: see SPEC.md
	// InputPatterns are what Inputs mean, as Patterns says it.
	InputPatterns []string
	Pause         bool // stop for review after it passed
	Timeout       time.Duration
	Metric        *MetricRule   // of a metric gate
	Approval      *ApprovalRule // of an approval gate
	Range         hcl.Range

	def *gateDef
}

// Label is the gate's name in the PRD document: `lint (WS3)`, and for a
// phase's own gate `sign-off (services)`.
func (g *Gate) Label() string {
	if g.Workstream != nil {
		return g.Name + " (" + g.Workstream.Name + ")"
	}
	return g.Name + " (" + g.Phase.Name + ")"
}

// MetricRule is what a metric must satisfy. Nil bounds are not checked.
type MetricRule struct {
	Name    string
	Min     *json.Number // as ParseNumber writes them
	Max     *json.Number
	MaxDrop *json.Number // against the last complete session
	MaxRise *json.Number
	Equals  any // json.Number, bool or string; nil: not checked
}

// ApprovalRule is what a person is asked.
type ApprovalRule struct {
	Message   string
	Approvers []string      // empty: anyone
	Timeout   time.Duration // 0: none
}

// HookEvent is the boundary after which a hook runs.
type HookEvent string

// The events that a hook can be declared for.
const (
	HookComplete    HookEvent = "complete"
	HookFailed      HookEvent = "failed"
	HookPaused      HookEvent = "paused"
	HookInterrupted HookEvent = "interrupted"
)

// Hook is a command that runs after a boundary is durable.
type Hook struct {
	Event   HookEvent
	Timeout time.Duration
	Range   hcl.Range

	def *hookDef
}

// Results is what has happened so far, for expressions that need it. The
// functions must be safe for concurrent use.
type Results struct {
	// Workstream returns the result of a completed instance, and whether there is one.
	Workstream func(name string) (Result, bool)
	// Restored opens the artifacts, by their paths, that are to be put back before
	// anything runs, so that functions read them as they will be.
	Restored map[string]func() (io.ReadCloser, error)
	// Metrics are json.Number, bool or string.
	Metrics map[string]any
	Run     RunInfo
	// Open leaves unknown what is not there yet, where it is an error else.
	Open bool
}

// Result is what a completed workstream left behind, or a skipped one: nothing.
type Result struct {
	Outputs   map[string]string
	Artifacts []string // paths, sorted
	Skipped   bool
}

// RunInfo is what `run.*` refers to. It never takes part in a digest.
type RunInfo struct {
	Session string
	Attempt int
	Resumed bool
}

// Invocation is a process to run, all expressions evaluated.
type Invocation struct {
	Command []string          // argv; a script is its shell followed by the text
	Dir     string            // relative to the workspace, "" is the workspace
	Env     map[string]string // additions to the environment
	// Definition is "sha256:…" of everything that decides what the process
	// does. A sensitive value counts with the name of its variable only, and
	// run.* not at all.
	Definition string
	// Range is where the file says what runs: the program of a command, or the
	// lines of a script.
	Range hcl.Range
}

// DeclaredArtifact is where the file declares an artifact, by its pattern.
func (w *Workstream) DeclaredArtifact(pattern string) hcl.Range {
	a := w.def.block.artifacts
	if i := slices.Index(w.Artifacts, pattern); i >= 0 && a != nil {
		return a.element(i, len(w.Artifacts))
	}
	return w.Range
}
