// Package limits refuses sources that HCL must not parse, because they are too large or
// nested too deep. Whatever parses HCL that someone else wrote, a file or a value, calls
// Check first. Limits that belong to one block of the language are in package pipeline.
package limits

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// MaxFileSize is the largest size of a file of a pipeline, in bytes.
const MaxFileSize = 16 << 20

// maxNesting is the largest depth of brackets, blocks and unary operators. The parser is
// recursive, so deeper nesting could exhaust the stack.
const maxNesting = 500

// Check returns an error if a source is too large or nested too deep for the parser. The
// filename is for the place of the error.
//
// It counts bytes first, which is cheap but rough, and counts tokens only if the first count
// is too high.
func Check(src []byte, filename string) *hcl.Diagnostic {
	if len(src) > MaxFileSize {
		return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "File too large", Detail: fmt.Sprintf("A pipeline file has at most %d MiB.", MaxFileSize>>20)}
	}
	depth, run, suspicious := 0, 0, false
	for _, c := range src {
		switch c {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case '!', '-', '?':
			run++
		case '\n':
			run = 0
		}
		if depth > maxNesting || run > maxNesting {
			suspicious = true
			break
		}
	}
	if !suspicious {
		return nil
	}
	return tokensTooDeep(src, filename)
}

func tokensTooDeep(src []byte, filename string) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	depth, run := 0, 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			depth--
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion:
			run++
		case hclsyntax.TokenNewline:
			run = 0
		}
		if depth > maxNesting || run > maxNesting {
			return &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  "Nesting too deep",
				Detail:   fmt.Sprintf("Brackets, blocks and operators may be nested at most %d deep. Move parts of the expression into locals.", maxNesting),
				Subject:  token.Range.Ptr(),
			}
		}
	}
	return nil
}
