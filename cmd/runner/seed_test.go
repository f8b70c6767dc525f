package main

import (
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// seedOr returns the seed that a flag gives, or one that follows from the commit if
// the flag is 0: each commit tries other moments than the last one, and the same ones
// whenever its tests run.
func seedOr(given uint64) uint64 {
	if given != 0 {
		return given
	}
	return commitSeed()
}

// commitSeed follows from the commit that is checked out; it is 1 outside a repository.
var commitSeed = sync.OnceValue(func() uint64 {
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if commit := strings.TrimSpace(string(out)); err == nil && len(commit) >= 6 {
		if seed, err := strconv.ParseUint(commit[:6], 16, 64); err == nil && seed > 0 {
			return seed
		}
	}
	return 1
})
