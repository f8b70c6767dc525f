package workspace

import (
	"path"
	"slices"
	"strings"

	"prdrunner/checkpoint/workspace/tree"
)

// SensitivePatterns returns the patterns of Sensitive, in the form in which users write
// them. A pattern without a slash is compared with a file's name, one with slashes with
// the end of its path, and one that ends in a slash with the directories above it. Case
// does not matter. A file that matches a pattern with "!" is not sensitive.
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
func Sensitive(path string) bool { return newSensitivity(nil).matchesName(path) }

// LeaveOut makes Keep and Capture treat files as sensitive, whatever their names are. Unlike
// other sensitive files they are captured only as they are in git's index. LeaveOut must be
// called before the workspace is used.
func (w *Workspace) LeaveOut(files []string) {
	w.sensitivity.listed = make(map[string]bool, len(files))
	for _, file := range files {
		w.sensitivity.listed[strings.ToLower(file)] = true
	}
}

// sensitivity holds the parsed SensitivePatterns, for many calls of matchesName.
type sensitivity struct {
	names, not map[string]bool // base names
	exts       map[string]bool // extensions, with the dot
	globs      [][]string      // globs of base names, split at their stars
	dirs       []string        // directories with slashes around them; each begins with a dot
	tails      []string        // ends of paths with a slash before them; each begins with a dot
	added      []addedPattern  // by the configuration
	listed     map[string]bool // files that LeaveOut names, in lower case
}

// addedPattern is a pattern of the configuration.
type addedPattern struct {
	glob   string // of whole paths, in lower case
	except bool   // files that match are not sensitive
}

func newSensitivity(added []string) *sensitivity {
	s := &sensitivity{names: map[string]bool{}, not: map[string]bool{}, exts: map[string]bool{}}
	for _, pattern := range added {
		glob, except := strings.CutPrefix(strings.ToLower(pattern), "!")
		if dir, isDir := strings.CutSuffix(glob, "/"); isDir {
			glob = dir + "/**"
		}
		s.added = append(s.added, addedPattern{glob: "**/" + strings.TrimPrefix(glob, "/"), except: except})
	}
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

func (s *sensitivity) matchesName(file string) bool {
	file = strings.ToLower(file)
	for _, p := range slices.Backward(s.added) {
		if tree.Matches(p.glob, file) {
			return !p.except
		}
	}
	if s.listed[file] {
		return true
	}
	name := file[strings.LastIndexByte(file, '/')+1:]
	return (s.names[name] || s.exts[path.Ext(name)] || s.matchGlobs(name) || s.matchHidden(file)) && !s.not[name]
}

// matchesPattern reports whether a path is sensitive whatever LeaveOut names.
func (s *sensitivity) matchesPattern(file string) bool {
	patterns := *s
	patterns.listed = nil
	return patterns.matchesName(file)
}

// matchesTracked reports whether a file is sensitive even if git tracks it: the bytes that git
// has are no secret any more, but others may be.
func (s *sensitivity) matchesTracked(file string) bool {
	return len(s.listed) > 0 && s.listed[strings.ToLower(file)] && s.matchesName(file)
}

// matchesAnyElement reports whether a path looks sensitive, as a file or as a directory.
func (s *sensitivity) matchesAnyElement(path string) bool {
	return s.matchesName(path) || s.matchesName(path+"/x")
}

func (s *sensitivity) matchGlobs(name string) bool {
	return slices.ContainsFunc(s.globs, func(parts []string) bool { return matchParts(parts, name) })
}

// matchHidden matches the patterns that contain a slash. They all begin with a dot, and
// few paths contain such a name.
func (s *sensitivity) matchHidden(file string) bool {
	if !strings.HasPrefix(file, ".") && !strings.Contains(file, "/.") {
		return false
	}
	// The path counts as if it began with a slash.
	return slices.ContainsFunc(s.dirs, func(dir string) bool { return strings.HasPrefix(file, dir[1:]) || strings.Contains(file, dir) }) ||
		slices.ContainsFunc(s.tails, func(tail string) bool { return file == tail[1:] || strings.HasSuffix(file, tail) })
}

// matchParts reports whether a name matches a pattern that is split at its stars.
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
