package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"prdrunner/cmd/runner/words"
)

// Sources say where the configuration is.
type Sources struct {
	Workspace string         // directory of the project's file; absolute
	File      string         // read instead of the project's file, absolute; "": none is named
	Environ   []string       // "NAME=value"
	Flags     *pflag.FlagSet // of the running command; nil: no flags

	Display func(path string) string          // returns the form of a path that messages show
	Read    func(path string) ([]byte, error) // reads a file
}

// lookup returns the value of an environment variable, "" if it is not set.
func (s *Sources) lookup(name string) string {
	for _, assignment := range s.Environ {
		if value, found := strings.CutPrefix(assignment, name+"="); found {
			return value
		}
	}
	return ""
}

// readLayers reads every source except the defaults, weakest first.
func readLayers(s Sources, problems *Error) ([]layer, error) {
	files, err := s.filesToRead()
	if err != nil {
		return nil, err
	}
	var layers []layer
	for _, path := range files {
		entries, err := s.readFile(path)
		if err != nil {
			problems.addError(err)
			continue
		}
		layers = append(layers, checkEntries(entries, problems))
	}
	layers = append(layers, checkEntries(s.environmentEntries(problems), problems))
	layers = append(layers, checkEntries(s.flagEntries(), problems))
	return layers, nil
}

// userConfigDir returns the directory of the user's own configuration, as os.UserConfigDir
// does, or "" if it is unknown.
func (s *Sources) userConfigDir() string {
	home := s.lookup("HOME")
	switch runtime.GOOS {
	case "windows":
		return s.lookup("AppData")
	case "darwin", "ios":
		if home == "" {
			return ""
		}
		return filepath.Join(home, "Library", "Application Support")
	default:
		if dir := s.lookup("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			return dir
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, ".config")
	}
}

// readFile reads a file into entries that record their lines. Viper reads the same
// formats, but does not record where a value is.
func (s *Sources) readFile(path string) ([]entry, error) {
	display := s.Display(path)
	data, err := s.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var entries []entry
	switch ext := filepath.Ext(path); ext {
	case ".yaml", ".yml":
		entries, err = yamlEntries(data)
	case ".toml":
		entries, err = tomlEntries(data)
	case ".json":
		entries, err = jsonEntries(data)
	default:
		return nil, fmt.Errorf("%s: the name must end in %s", display, words.OneOf(Extensions()))
	}
	var syntax *syntaxError
	if errors.As(err, &syntax) && syntax.line > 0 {
		return nil, fmt.Errorf("%s:%d: %s", display, syntax.line, syntax.message)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", display, err)
	}
	for i := range entries {
		entries[i].where = display + ":" + entries[i].where
	}
	return entries, nil
}

// syntaxError reports a file that is not valid in its format.
type syntaxError struct {
	line    int // 0: not known
	message string
}

func (e *syntaxError) Error() string { return e.message }

// Extensions returns the extensions of configuration files.
func Extensions() []string { return []string{".yaml", ".yml", ".toml", ".json"} }

// filesToRead returns the files to read, weakest first: the user's file, then the
// workspace's file or the one that --config names.
func (s *Sources) filesToRead() ([]string, error) {
	var files []string
	if dir := s.userConfigDir(); dir != "" {
		user, err := FindFile(filepath.Join(dir, "runner", "config"))
		if err != nil {
			return nil, err
		}
		files = append(files, user...)
	}
	if s.File != "" {
		return append(files, s.File), nil
	}
	project, err := FindFile(filepath.Join(s.Workspace, "runner"))
	if err != nil {
		return nil, err
	}
	return append(files, project...), nil
}

// FindFile returns the file with the given stem and one of the extensions. Two such
// files are a mistake, because one would be ignored.
func FindFile(stem string) ([]string, error) {
	var found []string
	for _, ext := range Extensions() {
		info, err := os.Stat(stem + ext)
		if err == nil && !info.IsDir() {
			found = append(found, stem+ext)
		}
	}
	if len(found) > 1 {
		return nil, &AmbiguousError{Files: found}
	}
	return found, nil
}

// AmbiguousError reports several configuration files in one directory.
type AmbiguousError struct{ Files []string }

// Error implements error.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s: there are several configuration files here: %s; keep one", e.Files[0], strings.Join(e.Files, ", "))
}

// flagEntries returns the values of the running command's flags that set a key, such as
// --keep-going for keep_going.
func (s *Sources) flagEntries() []entry {
	if s.Flags == nil {
		return nil
	}
	var entries []entry
	for _, k := range Keys() {
		flag := s.Flags.Lookup(strings.ReplaceAll(k.Name, "_", "-"))
		if k.flag && flag != nil && flag.Changed {
			entries = append(entries, entry{key: k.Name, value: flag.Value.String(), textual: true, where: "--" + flag.Name})
		}
	}
	return entries
}

// environmentEntries returns the values of PRDRUNNER_* variables, without those that set
// variables of a pipeline.
func (s *Sources) environmentEntries(problems *Error) []entry {
	ours := slices.DeleteFunc(slices.Clone(s.Environ), func(assignment string) bool {
		return !strings.HasPrefix(assignment, environmentPrefix) || strings.HasPrefix(assignment, VariablePrefix)
	})
	if len(ours) == 0 {
		return nil
	}
	names := make(map[string]string)
	for _, k := range Keys() {
		for _, spelling := range spellings(k.Name) {
			names[environmentName(spelling)] = spelling
		}
	}
	var entries []entry
	for _, assignment := range ours {
		name, value, _ := strings.Cut(assignment, "=")
		key, known := names[name]
		switch {
		case !known:
			problems.addNear(name, "is not a setting", words.Nearest(name, slices.Sorted(maps.Keys(names))))
		case value != "":
			entries = append(entries, entry{key: key, value: value, textual: true, where: name})
		}
	}
	return entries
}

const environmentPrefix = "PRDRUNNER_"

// VariablePrefix begins the names of environment variables that set variables of a
// pipeline, which are no settings.
const VariablePrefix = environmentPrefix + "VAR_"

// environmentName returns the name of the variable that sets a key.
func environmentName(key string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
