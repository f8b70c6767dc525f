package diagnostics

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"prdrunner/pipeline/limits"
)

// sources are the files that diagnostics point into.
type sources struct {
	files  map[string][]byte
	parsed map[string]*hclsyntax.Body
}

func newSources(files map[string][]byte) *sources {
	return &sources{files: files, parsed: map[string]*hclsyntax.Body{}}
}

// excerpt is the first line of a range, and the part of the line that the range covers.
type excerpt struct {
	code       string
	start, end int // in bytes
}

func (s *sources) excerpt(rng hcl.Range) (excerpt, bool) {
	src, ok := s.files[rng.Filename]
	if !ok || rng.Start.Byte < 0 || rng.Start.Byte > len(src) {
		return excerpt{}, false
	}
	begin := bytes.LastIndexByte(src[:rng.Start.Byte], '\n') + 1
	line := src[begin:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	start := min(rng.Start.Byte-begin, len(line))
	end := min(max(rng.End.Byte-begin, start), len(line))
	return excerpt{code: string(line), start: start, end: end}, true
}

// blockAt names the innermost block around a range: workstream "WS1".
func (s *sources) blockAt(rng hcl.Range) string {
	body := s.parsedBody(rng.Filename)
	name := ""
	for body != nil {
		i := slices.IndexFunc(body.Blocks, func(block *hclsyntax.Block) bool { return block.Range().ContainsOffset(rng.Start.Byte) })
		if i < 0 {
			break
		}
		block := body.Blocks[i]
		name = block.Type
		for _, label := range block.Labels {
			name += fmt.Sprintf(" %q", label)
		}
		body = block.Body
	}
	return name
}

func (s *sources) parsedBody(filename string) *hclsyntax.Body {
	if body, done := s.parsed[filename]; done {
		return body
	}
	var body *hclsyntax.Body
	if src, ok := s.files[filename]; ok && limits.Check(src, filename) == nil {
		// Mistakes in the file are ignored: the caller is writing them already.
		if file, _ := hclsyntax.ParseConfig(src, filename, hcl.InitialPos); file != nil {
			body, _ = file.Body.(*hclsyntax.Body)
		}
	}
	s.parsed[filename] = body
	return body
}
