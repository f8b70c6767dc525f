package pipeline

import (
	"github.com/hashicorp/hcl/v2/hclwrite"

	"prdrunner/pipeline/limits"
)

// Format returns source in its canonical layout. It changes only white space, and
// returns source with syntax errors unchanged.
func Format(src []byte) []byte {
	if limits.Check(src, "") != nil {
		return src
	}
	return hclwrite.Format(src)
}
