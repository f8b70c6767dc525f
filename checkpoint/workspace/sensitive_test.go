package workspace

import (
	"slices"
	"strings"
	"testing"
)

func TestSensitive(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		".env": true, "a/.ENV": true, ".env.local": true, "x/.env.example": false, ".env.sample": false, ".env.template": false,
		"tls/server.PEM": true, "my.key": true, "keyboard": false, "id_rsa": true, "id_rsa.pub": false, "a.ppk": true,
		"credentials": true, "aws-credentials-2.json": true, "credentials.go": false, "secrets.yaml": true, "secret.yaml": false,
		".npmrc": true, "service-account-prod.json": true, "home/.ssh/config": true, ".aws/x/y": true, "aws/x": false,
		"h/.kube/config": true, "kube/config": false, "x.kube/config": false, ".docker/config.json": true, "main.go": false, "x/.ssh": false, ".envrc": false,
	} {
		if got := Sensitive(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestSensitivePathsAreHidden: all patterns with a slash begin with a dot, as matchHidden
// requires.
func TestSensitivePathsAreHidden(t *testing.T) {
	t.Parallel()
	s := newSensitivity(nil)
	for _, part := range slices.Concat(s.dirs, s.tails) {
		if !strings.HasPrefix(part, "/.") {
			t.Errorf("%s would match nothing", part)
		}
	}
}
