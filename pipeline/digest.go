package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// hasher makes a digest of named parts. Every text is preceded by its length,
// so that no two different sequences of parts look the same.
type hasher struct {
	hash hash.Hash
	buf  []byte
}

func newHasher() *hasher { return &hasher{hash: sha256.New()} }

func (h *hasher) writeString(text string) {
	h.buf = binary.AppendUvarint(h.buf[:0], uint64(len(text)))
	h.buf = append(h.buf, text...)
	// A hash never fails to write.
	_, _ = h.hash.Write(h.buf)
}

func (h *hasher) writeField(name, text string) {
	h.writeString(name)
	h.writeString(text)
}

func (h *hasher) writeList(name string, list []string) {
	h.writeString(name)
	h.buf = binary.AppendUvarint(h.buf[:0], uint64(len(list)))
	_, _ = h.hash.Write(h.buf)
	for _, text := range list {
		h.writeString(text)
	}
}

func (h *hasher) sum() string {
	return "sha256:" + hex.EncodeToString(h.hash.Sum(nil))
}

// sumOpaque adds an expression that uses a sensitive variable or run.* to a digest, under a
// name. The value of such an expression must not count. Instead it adds
//
//   - the tokens of the expression, and of every sensitive local that it uses,
//   - the names of the sensitive variables,
//   - the value with placeholders for sensitive variables and run.*, so that everything
//     else in it counts by value. If the evaluation with placeholders fails, it adds
//     the values of the references.
func (s *scope) sumOpaque(h *hasher, name string, a *argument, fr frame) {
	h.writeField(name, "opaque")
	h.writeString(a.tokenSum())
	h.writeList("sensitive", s.sensitiveNames(a))
	h.writeList("locals", s.sensitiveLocals(a))
	if value, diags := s.valueIn(a, fr, cty.DynamicPseudoType, viewPlaceholder); !diags.HasErrors() {
		if value, _ = withoutMarks(value); value.IsWhollyKnown() {
			h.writeField("value", sumValue(value))
			return
		}
	}
	s.sumReferences(h, a, fr)
}

// sumReferences adds the value of every reference in an expression to a digest, and of
// every file that its functions read.
func (s *scope) sumReferences(h *hasher, a *argument, fr frame) {
	fr.reads = s.readsOf(a, fr)
	ctx, diags := s.context(a, fr, viewPlaceholder)
	if diags.HasErrors() {
		h.writeField("references", "none")
		return
	}
	if fr.reads != nil {
		_, _ = a.expr.Value(ctx) // records the files that it reads
		h.writeList("files", fr.reads.values())
	}
	for _, ref := range a.refs {
		h.writeString(ref.source())
		value, diags := ref.traversal.TraverseAbs(ctx)
		if value, _ = withoutMarks(value); diags.HasErrors() || !value.IsWhollyKnown() {
			h.writeString("unknown")
			continue
		}
		h.writeString(sumValue(value))
	}
}

// sensitiveLocals lists the names and tokens of the sensitive locals that an expression
// uses, also through other locals.
func (s *scope) sensitiveLocals(a *argument) []string {
	if a.kinds&kindLocal == 0 {
		return nil
	}
	found := map[string]bool{}
	var visit func(a *argument)
	visit = func(a *argument) {
		for _, ref := range a.refs {
			l := s.locals[ref.name]
			if ref.kind != kindLocal || l == nil || found[ref.name] || !s.isSensitive(l.variables) {
				continue
			}
			found[ref.name] = true
			visit(l.def.value)
		}
	}
	visit(a)
	var list []string
	for name := range found {
		list = append(list, name+" "+s.locals[name].def.value.tokenSum())
	}
	slices.Sort(list)
	return list
}
