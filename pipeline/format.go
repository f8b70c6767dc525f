package pipeline

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format returns source in its canonical layout. It changes only white space, and
// returns source with syntax errors unchanged.
func Format(src []byte) []byte {
	if tooDeep(src, "") != nil {
		return src
	}
	return hclwrite.Format(src)
}
