package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// protectBlock is a protect block of a workstream as the file has it.
type protectBlock struct {
	block         *hclsyntax.Block
	scope         *argument
	savepointList *argument
	savepoints    []*argument // the elements of savepointList, each a reference to a savepoint
	state         *argument
	expiry        *argument
	onFailure     *argument
	strictScope   *argument
}

var protectSchema = &hcl.BodySchema{Attributes: attributes("scope", "savepoints", "state", "expiry", "on_failure", "strict_scope")}

func (d *decoder) decodeProtect(block *hclsyntax.Block) *protectBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, protectSchema)
	return &protectBlock{
		block:         block,
		scope:         d.argument(content, "scope"),
		savepointList: d.argument(content, "savepoints"),
		savepoints:    d.references(content, "savepoints", kindSavepoint, "Invalid savepoint reference", "savepoint.NAME"),
		state:         d.argument(content, "state"),
		expiry:        d.argument(content, "expiry"),
		onFailure:     d.argument(content, "on_failure"),
		strictScope:   d.argument(content, "strict_scope"),
	}
}

// Protect says what is taken back if a workstream fails. It has at least one of Scope,
// Savepoints and State. It does not count in a digest.
type Protect struct {
	Scope         []string // globs of files, in the form of Workstream.Artifacts
	ScopePatterns []string // the glob.Patterns of these globs
	Savepoints    []string // names of savepoints
	State         []string // keys of the session's state

	// Expiry is how long the safety checkpoint is kept after the workstream and its gates
	// have passed. 0 means that it is removed then, unless NeverExpires is set.
	Expiry       time.Duration
	NeverExpires bool

	// KeepOnFailure means on_failure = "keep": what the last attempt left stays as it is.
	KeepOnFailure bool
	// StrictScope makes a change of a file outside of scope and artifacts a failure.
	StrictScope bool
	Range       hcl.Range
}

// onceIsFinal says why a once workstream can be neither protected nor mutating.
const onceIsFinal = `effect = "once" says that what the workstream does can't be taken back, and so it is never run again by itself. Remove "mutates" and "protect", or choose another effect.`

// buildProtect evaluates mutates and the protect block of an instance.
func buildProtect(b *builder, ws *Workstream, fr frame) {
	block, mutates := ws.def.block.protect, ws.def.block.mutates
	ws.Mutates = b.boolean(mutates, fr)
	if block != nil {
		ws.Protect = evalProtect(b, block, fr)
	}
	switch {
	case ws.Effect == Once && block != nil:
		b.errorf("Protection of a once workstream", block.block.DefRange(), onceIsFinal)
	case ws.Effect == Once && ws.Mutates:
		b.errorf("Protection of a once workstream", mutates.exprRange(), onceIsFinal)
	case ws.Mutates && ws.Effect == Pure:
		b.errorf("Pure workstream that mutates", mutates.exprRange(), `effect = "pure" says that the workstream changes nothing but its outputs and artifacts, and mutates = true says that it does. Remove one of them.`)
	case ws.Mutates && block == nil:
		b.errorf("Mutation without protection", mutates.exprRange(), `mutates = true says that the workstream changes things that are not its artifacts, so it needs a protect block that says which, such as protect { scope = ["db/**"] }.`)
	}
}

func evalProtect(b *builder, block *protectBlock, fr frame) *Protect {
	p := &Protect{
		Scope:         b.evalGlobs(block.scope, fr),
		Savepoints:    savepointNames(b, block.savepoints),
		State:         stateKeys(b, block.state, fr),
		KeepOnFailure: oneOf(b, block.onFailure, fr, "rollback", "rollback", "keep") == "keep",
		StrictScope:   b.boolean(block.strictScope, fr),
		Range:         block.block.DefRange(),
	}
	p.ScopePatterns = b.patterns(block.scope, p.Scope)
	p.Expiry, p.NeverExpires = expiry(b, block.expiry, fr)
	noSavepoint := block.savepointList == nil || block.savepointList.texts != nil && len(block.savepointList.texts) == 0
	if noSavepoint && hasNothing(b, block.scope, fr) && hasNothing(b, block.state, fr) {
		b.errorf("Empty protection", p.Range, `A protect block names what it protects, with at least one of "scope", "savepoints" and "state".`)
	}
	return p
}

// hasNothing reports whether a list certainly has no element.
func hasNothing(b *builder, a *argument, fr frame) bool {
	if a == nil {
		return true
	}
	value, ok := b.evaluate(a, fr, cty.DynamicPseudoType)
	if value, _ = withoutMarks(value); !ok || !value.IsKnown() {
		return false
	}
	return value.IsNull() || value.CanIterateElements() && value.LengthInt() == 0
}

// expiry evaluates a duration or "never".
func expiry(b *builder, a *argument, fr frame) (d time.Duration, never bool) {
	if a == nil {
		return 0, false
	}
	value, ok := b.constant(a, fr, cty.String)
	if !ok {
		return 0, false
	}
	text := value.AsString()
	if text == "never" {
		return 0, true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		b.errorf("Invalid duration", a.exprRange(), `%q cannot be %q; write a positive duration with its unit, such as "30m" or "24h", or "never".`, a.name, text)
		return 0, false
	}
	return d, false
}

// maxStateKey is the longest key of the session's state, in bytes.
const maxStateKey = 256

// stateKeys evaluates a list of keys of the session's state.
func stateKeys(b *builder, a *argument, fr frame) []string {
	var keys []string
	list := b.stringList(a, fr)
	for i, key := range list {
		if key == "" || len(key) > maxStateKey || strings.ContainsFunc(key, unicode.IsControl) {
			b.errorf("Invalid state key", a.element(i, len(list)), "%q cannot be a key of the session's state. A key has from 1 to %d bytes, and no control characters.", key, maxStateKey)
			continue
		}
		keys = appendNew(keys, []string{key})
	}
	return keys
}

// claim is the use of something by a workstream.
type claim struct {
	ws   *Workstream
	side int       // of two things that overlap, which one: 0 or 1
	name string    // what the workstream calls it
	said *argument // where it does that
}

// together returns two claims whose workstreams may run at the same time. It compares only
// neighbours in the order of batches: if each waits for the one before it, all do. If
// crossing is set, it ignores neighbours of the same side; callers have compared each side
// by itself.
func together(claims []claim, crossing bool) (first, second claim, found bool) {
	slices.SortStableFunc(claims, func(x, y claim) int { return cmp.Compare(x.ws.Batch, y.ws.Batch) })
	for i := 1; i < len(claims); i++ {
		first, second = claims[i-1], claims[i]
		if first.ws != second.ws && (!crossing || first.side != second.side) && !second.ws.waitsFor(first.ws.target()) {
			return first, second, true
		}
	}
	return claim{}, claim{}, false
}

// exclusive reports databases and keys that two workstreams of a phase may change and
// restore at the same time.
func exclusive(b *builder, workstreams []*Workstream) {
	databases, keys := map[string][]claim{}, map[string][]claim{}
	for _, ws := range workstreams {
		if ws.Protect == nil {
			continue
		}
		block := ws.def.block.protect
		for _, a := range block.savepoints {
			if s := b.pipeline.Savepoint(a.refs[0].name); s != nil {
				databases[s.database()] = append(databases[s.database()], claim{ws: ws, name: "savepoint." + s.Name, said: a})
			}
		}
		for _, key := range ws.Protect.State {
			keys[key] = append(keys[key], claim{ws: ws, name: key, said: block.state})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(databases)) {
		if first, second, found := together(databases[id], false); found {
			what := "both protect " + first.name
			if first.name != second.name {
				what = first.name + " and " + second.name + " are the same database"
			}
			reportClaims(b, first, second, what, "Instances of a block never wait for each other; let a workstream without for_each change the database.")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if first, second, found := together(keys[key], false); found {
			reportClaims(b, first, second, "both protect the key "+quoted(key)+" of the session's state", "Put ${each.key} into the key.")
		}
	}
}

// reportClaims reports two claims of the same thing. The advice is for instances of one
// block.
func reportClaims(b *builder, first, second claim, what, advice string) {
	if first.ws.def != second.ws.def {
		advice = "Add one to depends_on of the other."
	}
	b.errorf("Overlapping protection", second.said.exprRange(), "%s and %s may run at the same time, but %s, so a rollback of one takes back what the other did. %s", first.ws.Name, second.ws.Name, what, advice)
}
