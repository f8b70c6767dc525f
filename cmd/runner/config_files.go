package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// userConfigDir returns the directory of the user's own configuration, as os.UserConfigDir
// does, or "" if it is unknown.
func (e *environment) userConfigDir() string {
	home := e.lookup("HOME")
	switch runtime.GOOS {
	case "windows":
		return e.lookup("AppData")
	case "darwin", "ios":
		if home == "" {
			return ""
		}
		return filepath.Join(home, "Library", "Application Support")
	default:
		if dir := e.lookup("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			return dir
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, ".config")
	}
}

// readConfigFile reads a file into entries that record their lines. Viper reads the same
// formats, but does not record where a value is.
func readConfigFile(path, display string) ([]configEntry, error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var entries []configEntry
	switch ext := filepath.Ext(path); ext {
	case ".yaml", ".yml":
		entries, err = yamlEntries(data)
	case ".toml":
		entries, err = tomlEntries(data)
	case ".json":
		entries, err = jsonEntries(data)
	default:
		return nil, fmt.Errorf("%s: the name must end in %s", display, oneOf(configExtensions()))
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
