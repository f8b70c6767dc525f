package workspace

import (
	"path"
	"slices"
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
func Sensitive(path string) bool { return newSensitivity().match(path) }

// sensitivity is SensitivePatterns, parsed to be asked often.
type sensitivity struct {
	names, not map[string]bool // base names
	exts       map[string]bool // with the dot; whatever is before it
	globs      [][]string      // of base names, in the parts between their stars
	dirs       []string        // with slashes around them, and a dot at their beginning
	tails      []string        // of paths, with a slash before them, and a dot behind that
}

func newSensitivity() *sensitivity {
	s := &sensitivity{names: map[string]bool{}, not: map[string]bool{}, exts: map[string]bool{}}
	for _, pattern := range SensitivePatterns() {
		except, isExcept := strings.CutPrefix(pattern, "!")
		ext, isExt := strings.CutPrefix(pattern, "*")
		switch {
		case isExcept:
			s.not[except] = true
		case strings.HasSuffix(pattern, "/"):
			s.dirs = append(s.dirs, "/"+pattern)
		case strings.Contains(pattern, "/"):
			s.tails = append(s.tails, "/"+pattern)
		case isExt && ext == path.Ext(ext):
			s.exts[ext] = true
		case strings.Contains(pattern, "*"):
			s.globs = append(s.globs, strings.Split(pattern, "*"))
		default:
			s.names[pattern] = true
		}
	}
	return s
}

func (s *sensitivity) match(file string) bool {
	file = strings.ToLower(file)
	name := file[strings.LastIndexByte(file, '/')+1:]
	return (s.names[name] || s.exts[path.Ext(name)] || s.matchGlobs(name) || s.matchHidden(file)) && !s.not[name]
}

func (s *sensitivity) matchGlobs(name string) bool {
	return slices.ContainsFunc(s.globs, func(parts []string) bool { return matchParts(parts, name) })
}

// matchHidden matches what is about more than the name. All of that is hidden, and few
// paths are.
func (s *sensitivity) matchHidden(file string) bool {
	if !strings.HasPrefix(file, ".") && !strings.Contains(file, "/.") {
		return false
	}
	// What is asked is whether these are in the path with a slash before it.
	return slices.ContainsFunc(s.dirs, func(dir string) bool { return strings.HasPrefix(file, dir[1:]) || strings.Contains(file, dir) }) ||
		slices.ContainsFunc(s.tails, func(tail string) bool { return file == tail[1:] || strings.HasSuffix(file, tail) })
}

// matchParts matches a name with the parts of a pattern between its stars.
func matchParts(parts []string, name string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = rest
	}
	return true
}
