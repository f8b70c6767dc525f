package pipeline

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// argument is an expression of the file with what it refers to. It is made
// once by Parse and shared by everything that is evaluated from it.
type argument struct {
	name      string
	nameRange hcl.Range
	expr      hclsyntax.Expression
	source    []byte // of the expression
	refs      []reference
	kinds     kinds // of all refs together
	calls     []*hclsyntax.FunctionCallExpr

	tokenSum func() string
}

func newArgument(name string, nameRange hcl.Range, expr hclsyntax.Expression, src []byte) *argument {
	a := &argument{name: name, nameRange: nameRange, expr: expr}
	if rng := expr.Range(); rng.CanSliceBytes(src) {
		a.source = rng.SliceBytes(src)
	}
	a.refs = findReferences(expr)
	for _, ref := range a.refs {
		a.kinds |= ref.kind
	}
	// The visitor never returns diagnostics.
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		if call, ok := node.(*hclsyntax.FunctionCallExpr); ok {
			a.calls = append(a.calls, call)
		}
		return nil
	})
	a.tokenSum = sync.OnceValue(a.sumTokens)
	return a
}

// rng is the range of the expression.
func (a *argument) rng() hcl.Range { return a.expr.Range() }

// sumTokens is the digest of the expression's tokens, so that neither
// whitespace nor comments count.
func (a *argument) sumTokens() string {
	h := sha256.New()
	tokens, _ := hclsyntax.LexExpression(a.source, "", hcl.InitialPos)
	for _, token := range tokens {
		if token.Type == hclsyntax.TokenComment || token.Type == hclsyntax.TokenNewline || token.Type == hclsyntax.TokenEOF {
			continue
		}
		// A hash never fails to write.
		_, _ = fmt.Fprintf(h, "%d:%d:%s", token.Type, len(token.Bytes), token.Bytes)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
