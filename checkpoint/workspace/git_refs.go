package workspace

import (
	"context"
	"fmt"
	"strings"
)

// Head is where HEAD stands: branch is "" when it is detached, commit "" on an
// unborn branch.
func (g *Git) Head(ctx context.Context) (branch, commit string, err error) {
	const heads = "refs/heads/"
	out, err := g.output(ctx, nil, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD", "--")
	if exitCode(err) == 128 {
		// Nothing was committed yet: HEAD names a branch that does not exist.
		if out, symbolic := g.output(ctx, nil, "symbolic-ref", "-q", "HEAD"); symbolic == nil {
			return strings.TrimPrefix(strings.TrimSuffix(string(out), "\n"), heads), "", nil
		}
	}
	lines := strings.Split(string(out), "\n")
	if err == nil && len(lines) < 2 {
		err = fmt.Errorf("cannot read the answer %q", out)
	}
	if err != nil {
		return "", "", fmt.Errorf("look where HEAD of git stands: %w", err)
	}
	if lines[1] == "HEAD" {
		return "", lines[0], nil
	}
	return strings.TrimPrefix(lines[1], heads), lines[0], nil
}
