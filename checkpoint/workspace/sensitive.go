package workspace

import (
	"path"
	"strings"
)

// SensitivePatterns returns the patterns of Sensitive, as a person would write
// them: one without a slash is compared with a file's name, one with slashes
// with the end of its path, one that ends in a slash with the directories
// above it. Case does not matter. What begins with "!" is no match after all.
func SensitivePatterns() []string {
	return []string{
		".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
		"credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.xml",
		"*credentials*.json", "service-account*.json", "secrets.*",
		".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials",
		".ssh/", ".aws/", ".gnupg/", ".kube/config", ".docker/config.json",
	}
}

// Sensitive reports whether a path looks like one that holds secrets.
func Sensitive(file string) bool {
	file = "/" + strings.ToLower(file)
	found := false
	for _, pattern := range SensitivePatterns() {
		pattern, except := strings.CutPrefix(pattern, "!")
		if (!found || except) && looksLike(pattern, file) {
			found = !except
		}
	}
	return found
}

func looksLike(pattern, file string) bool {
	switch {
	case strings.HasSuffix(pattern, "/"):
		return strings.Contains(file, "/"+pattern)
	case strings.Contains(pattern, "/"):
		return strings.HasSuffix(file, "/"+pattern)
	}
	ok, err := path.Match(pattern, path.Base(file))
	return ok && err == nil
}
