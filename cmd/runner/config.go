package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// config is the user's configuration. Flags override PRDRUNNER_* variables, which override
// the project's file, the user's file and the defaults. config_keys.go has the table of
// keys, types and defaults.
type config struct {
	Checkpoint checkpointConfig `mapstructure:"checkpoint"`
	Workspace  struct {
		Include []string `mapstructure:"include"`
	} `mapstructure:"workspace"`

	Pipelines         string           `mapstructure:"pipelines"` // a directory to search for pipelines
	Parallel          int              `mapstructure:"parallel"`  // 0: number of CPUs
	KeepGoing         bool             `mapstructure:"keep_going"`
	PauseAtGates      bool             `mapstructure:"pause_at_gates"`
	OnConflict        plan.OnConflict  `mapstructure:"on_conflict"` // "": the user has not chosen
	OnStale           runner.OnStale   `mapstructure:"on_stale"`
	OnCheckpointError record.OnFailure `mapstructure:"on_checkpoint_error"`
	Grace             time.Duration    `mapstructure:"grace"`

	// IDPattern matches a whole PRD id; IDPatternText is its source.
	IDPattern     *regexp.Regexp `mapstructure:"-"`
	IDPatternText string         `mapstructure:"id_pattern"`

	settings func() []setting // every key, in the order of the table
}

// checkpointConfig is the section `checkpoint`.
type checkpointConfig struct {
	Enabled        bool             `mapstructure:"enabled"`
	AutoCheckpoint bool             `mapstructure:"auto_checkpoint"`
	Triggers       map[string]bool  `mapstructure:"triggers"`
	Retention      retentionConfig  `mapstructure:"retention"`
	Storage        storageConfig    `mapstructure:"storage"`
	Capture        runner.CaptureAt `mapstructure:"capture"`
	Git            struct {
		Mode string `mapstructure:"mode"`
	} `mapstructure:"git"`
}

// retentionConfig is the section `checkpoint.retention`.
type retentionConfig struct {
	Counts       map[string]int `mapstructure:",remain"` // by trigger, for the triggers that have a limit; -1 keeps all
	MaxAge       time.Duration  `mapstructure:"max_age"`
	FailedMaxAge time.Duration  `mapstructure:"failed_max_age"`
	OnComplete   string         `mapstructure:"on_complete"`
}

// storageConfig is the section `checkpoint.storage`.
type storageConfig struct {
	Location  string `mapstructure:"location"` // may hold {prd}
	Compress  bool   `mapstructure:"compress"`
	MaxSizeMB int    `mapstructure:"max_size_mb"`
	URL       string `mapstructure:"url"`
}

// setting is one effective value and its source.
type setting struct {
	Key    string     `json:"key"`
	Value  any        `json:"value"`
	Source state.Text `json:"source"` // file:line, name of the variable or flag, "default"
}

// loadConfig reads the configuration, once per process. It returns all mistakes in one
// *configError.
func loadConfig(env *environment) (*config, error) {
	if env.config != nil {
		return env.config, nil
	}
	var problems configError
	layers, err := configLayers(env, &problems)
	if err != nil {
		return nil, err
	}
	cfg, err := mergeLayers(layers, &problems)
	if err != nil {
		return nil, err
	}
	if len(problems.list) > 0 {
		return nil, withHint(&problems, "`runner config --defaults` lists every key")
	}
	env.config = cfg
	return cfg, nil
}

// layer holds the checked values of one source, by key.
type layer struct {
	values  map[string]any
	sources map[string]string
}

// configLayers reads every source except the defaults, weakest first.
func configLayers(env *environment, problems *configError) ([]layer, error) {
	files, err := configFiles(env)
	if err != nil {
		return nil, err
	}
	var layers []layer
	for _, path := range files {
		entries, err := readConfigFile(path, env.display(path))
		if err != nil {
			problems.add(err)
			continue
		}
		layers = append(layers, checkEntries(entries, problems))
	}
	layers = append(layers, checkEntries(environmentEntries(env, problems), problems))
	layers = append(layers, checkEntries(flagEntries(env), problems))
	return layers, nil
}

// mergeLayers merges the layers, weakest first, and decodes the result.
func mergeLayers(layers []layer, problems *configError) (*config, error) {
	v := viper.New()
	sources := make(map[string]string)
	for _, k := range configKeys() {
		if k.fallback != nil {
			v.SetDefault(k.name, k.fallback)
		}
		sources[k.name] = "default"
	}
	for _, l := range layers {
		if err := v.MergeConfigMap(nested(l.values)); err != nil {
			return nil, fmt.Errorf("merge the configuration: %w", err)
		}
		for key, source := range l.sources {
			sources[key] = source
		}
	}
	cfg := &config{}
	if err := v.Unmarshal(cfg); err != nil {
		return nil, fmt.Errorf("decode the configuration: %w", err)
	}
	pattern, err := regexp.Compile("^(?:" + cfg.IDPatternText + ")$")
	if err != nil {
		problems.addf(sources["id_pattern"], "id_pattern is not a regular expression: %v", err)
	}
	cfg.IDPattern = pattern
	if sources["on_conflict"] == "default" {
		cfg.OnConflict = "" // the user has not chosen, so the gate judges edits made after it failed
	}
	cfg.settings = func() (settings []setting) {
		for _, k := range configKeys() {
			settings = append(settings, setting{Key: k.name, Value: v.Get(k.name), Source: state.Text(sources[k.name])})
		}
		return settings
	}
	return cfg, nil
}

// nested turns {"a.b": 1} into {"a": {"b": 1}}.
func nested(flat map[string]any) map[string]any {
	root := make(map[string]any)
	for key, value := range flat {
		section := root
		parts := strings.Split(key, ".")
		for _, part := range parts[:len(parts)-1] {
			next, ok := section[part].(map[string]any)
			if !ok {
				next = make(map[string]any)
				section[part] = next
			}
			section = next
		}
		section[parts[len(parts)-1]] = value
	}
	return root
}

// configExtensions returns the extensions of configuration files.
func configExtensions() []string { return []string{".yaml", ".yml", ".toml", ".json"} }

// configFiles returns the files to read, weakest first: the user's file, then the
// workspace's file or the one that --config names.
func configFiles(env *environment) ([]string, error) {
	var files []string
	if dir := env.userConfigDir(); dir != "" {
		user, err := findConfigFile(filepath.Join(dir, "runner", "config"))
		if err != nil {
			return nil, err
		}
		files = append(files, user...)
	}
	if env.options.config != "" {
		return append(files, env.path(env.options.config)), nil
	}
	project, err := findConfigFile(filepath.Join(env.workdir, "runner"))
	if err != nil {
		return nil, err
	}
	return append(files, project...), nil
}

// findConfigFile returns the file with the given stem and one of the extensions. Two such
// files are a mistake, because one would be ignored.
func findConfigFile(stem string) ([]string, error) {
	var found []string
	for _, ext := range configExtensions() {
		info, err := os.Stat(stem + ext)
		if err == nil && !info.IsDir() {
			found = append(found, stem+ext)
		}
	}
	if len(found) > 1 {
		var problems configError
		problems.addf(found[0], "there are several configuration files here: %s; keep one", strings.Join(found, ", "))
		return nil, &problems
	}
	return found, nil
}

// flagEntries returns the values of the running command's flags that set a key, such as
// --keep-going for keep_going.
func flagEntries(env *environment) []configEntry {
	if env.flags == nil {
		return nil
	}
	var entries []configEntry
	for _, k := range configKeys() {
		flag := env.flags.Lookup(strings.ReplaceAll(k.name, "_", "-"))
		if k.flag && flag != nil && flag.Changed {
			entries = append(entries, configEntry{key: k.name, value: flag.Value.String(), textual: true, where: "--" + flag.Name})
		}
	}
	return entries
}

// environmentEntries returns the values of PRDRUNNER_* variables, without those that set
// variables of a pipeline.
func environmentEntries(env *environment, problems *configError) []configEntry {
	ours := slices.DeleteFunc(slices.Clone(env.environ), func(assignment string) bool {
		return !strings.HasPrefix(assignment, environmentPrefix) || strings.HasPrefix(assignment, variablePrefix)
	})
	if len(ours) == 0 {
		return nil
	}
	names := make(map[string]string)
	for _, k := range configKeys() {
		for _, spelling := range spellings(k.name) {
			names[environmentName(spelling)] = spelling
		}
	}
	var entries []configEntry
	for _, assignment := range ours {
		name, value, _ := strings.Cut(assignment, "=")
		key, known := names[name]
		switch {
		case !known:
			problems.addNear(name, "is not a setting", nearest(name, slices.Sorted(maps.Keys(names))))
		case value != "":
			entries = append(entries, configEntry{key: key, value: value, textual: true, where: name})
		}
	}
	return entries
}

const (
	environmentPrefix = "PRDRUNNER_"
	variablePrefix    = environmentPrefix + "VAR_"
)

// environmentName returns the name of the variable that sets a key.
func environmentName(key string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
