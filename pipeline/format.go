package pipeline

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format gives source its canonical layout. It changes whitespace only, and
// leaves what can't be parsed as it is.
func Format(src []byte) []byte {
	if tooDeep(src, "") != nil {
		return src
	}
	return hclwrite.Format(src)
}
