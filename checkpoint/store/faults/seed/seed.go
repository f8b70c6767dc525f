// Package seed has OfCommit, from which tests that try a sample choose it. Only tests import
// the package.
package seed

import (
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// OfCommit returns a seed that follows from the commit that is checked out: each commit
// tries other moments than the last one, and the same ones whenever its tests run. It is 1
// outside a repository.
var OfCommit = sync.OnceValue(func() uint64 {
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if commit := strings.TrimSpace(string(out)); err == nil && len(commit) >= 6 {
		if seed, err := strconv.ParseUint(commit[:6], 16, 64); err == nil && seed > 0 {
			return seed
		}
	}
	return 1
})
