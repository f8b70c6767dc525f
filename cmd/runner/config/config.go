// Package config reads the user's configuration: the keys, their types and defaults, and
// the source of each value. Load merges all sources and returns every mistake at once, with
// the line, variable or flag that made it.
//
// keys.go has the table of keys: a new key is a row there and a field of Config. sources.go
// finds and reads the sources, formats.go reads the formats of files, check.go checks and
// converts the values. What a setting means is for the commands and the engine to say.
package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/viper"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// Config is the user's configuration. Flags override PRDRUNNER_* variables, which override
// the project's file, the user's file and the defaults.
type Config struct {
	Checkpoint Checkpoint `mapstructure:"checkpoint"`
	Workspace  struct {
		Include   []string `mapstructure:"include"`
		Sensitive []string `mapstructure:"sensitive"`
	} `mapstructure:"workspace"`
	Safety struct {
		Expiry time.Duration `mapstructure:"expiry"` // 0: safety checkpoints do not expire
	} `mapstructure:"safety"`

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
	// SessionPattern matches the id of a session: that of a PRD, or of a called pipeline.
	SessionPattern *regexp.Regexp `mapstructure:"-"`

	settings func() []Setting // every key, in the order of the table
}

// Checkpoint is the section `checkpoint`.
type Checkpoint struct {
	Enabled        bool             `mapstructure:"enabled"`
	AutoCheckpoint bool             `mapstructure:"auto_checkpoint"`
	Triggers       map[string]bool  `mapstructure:"triggers"`
	Retention      Retention        `mapstructure:"retention"`
	Storage        Storage          `mapstructure:"storage"`
	Capture        runner.CaptureAt `mapstructure:"capture"`
	Git            struct {
		Mode string `mapstructure:"mode"`
	} `mapstructure:"git"`
}

// Retention is the section `checkpoint.retention`.
type Retention struct {
	Counts       map[string]int `mapstructure:",remain"` // by trigger, for the triggers that have a limit; -1 keeps all
	MaxAge       time.Duration  `mapstructure:"max_age"`
	FailedMaxAge time.Duration  `mapstructure:"failed_max_age"`
	OnComplete   string         `mapstructure:"on_complete"`
}

// Storage is the section `checkpoint.storage`.
type Storage struct {
	Location  string `mapstructure:"location"` // may hold {prd} and {issue}
	Compress  bool   `mapstructure:"compress"`
	MaxSizeMB int    `mapstructure:"max_size_mb"`
	URL       string `mapstructure:"url"`
}

// Setting is one effective value and its source.
type Setting struct {
	Key    string     `json:"key"`
	Value  any        `json:"value"`
	Source state.Text `json:"source"` // file:line, name of the variable or flag, "default"
}

// Load reads the configuration. It returns all mistakes in one *Error.
func Load(from Sources) (*Config, error) {
	var problems Error
	layers, err := readLayers(from, &problems)
	if err != nil {
		return nil, err
	}
	cfg, err := mergeLayers(layers, &problems)
	if err != nil {
		return nil, err
	}
	if len(problems.list) > 0 {
		return nil, &problems
	}
	return cfg, nil
}

// Settings returns every key with its value, in the order of Keys.
func (c *Config) Settings() []Setting { return c.settings() }

// Root returns the PRD to whose pipeline a session belongs. For a called pipeline, that is the
// PRD that people build, and called is true.
func (c *Config) Root(id string) (root string, called bool) {
	if c.IDPattern.MatchString(id) || !c.SessionPattern.MatchString(id) {
		return id, false
	}
	for i := range len(id) {
		if id[i] == '.' && c.IDPattern.MatchString(id[:i]) {
			return id[:i], true
		}
	}
	return id, false
}

// StatePerPRD reports whether there are several state directories, so that the one of a
// command is known only with a PRD.
func (c *Config) StatePerPRD() bool {
	return strings.Contains(c.Checkpoint.Storage.Location, prdPlaceholder) || c.StatePerIssue()
}

// StatePerIssue reports whether the state directory of a PRD is known only with the number
// of its issue.
func (c *Config) StatePerIssue() bool {
	return strings.Contains(c.Checkpoint.Storage.Location, IssuePlaceholder)
}

// StateDir returns the state directory of a PRD with an issue, relative to the workspace.
// It does not depend on prd or issue unless StatePerPRD or StatePerIssue says so.
func (c *Config) StateDir(prd, issue string) string {
	return strings.NewReplacer(prdPlaceholder, prd, IssuePlaceholder, issue).Replace(c.Checkpoint.Storage.Location)
}

// Policy returns the configured policy for checkpoints.
func (c *Config) Policy() checkpoint.Policy {
	from := c.Checkpoint
	policy := checkpoint.Policy{
		Enabled:  from.Enabled,
		Auto:     from.AutoCheckpoint,
		Triggers: make(map[state.Trigger]bool),
		Retention: retention.Policy{
			Counts:       from.Retention.Counts,
			MaxAge:       from.Retention.MaxAge,
			FailedMaxAge: from.Retention.FailedMaxAge,
			MaxSizeMB:    from.Storage.MaxSizeMB,
		},
		OnComplete: checkpoint.OnComplete(from.Retention.OnComplete),
		Compress:   from.Storage.Compress,
	}
	for name, enabled := range from.Triggers {
		if name == conflictEvents {
			policy.Triggers[state.TriggerConflictStart] = enabled
			policy.Triggers[state.TriggerConflictResolved] = enabled
			continue
		}
		policy.Triggers[state.Trigger(name)] = enabled
	}
	return policy
}

// layer holds the checked values of one source, by key.
type layer struct {
	values  map[string]any
	sources map[string]string
}

// mergeLayers merges the layers, weakest first, and decodes the result.
func mergeLayers(layers []layer, problems *Error) (*Config, error) {
	v := viper.New()
	sources := make(map[string]string)
	for _, k := range Keys() {
		if k.Default != nil {
			v.SetDefault(k.Name, k.Default)
		}
		sources[k.Name] = "default"
	}
	for _, l := range layers {
		if err := v.MergeConfigMap(nested(l.values)); err != nil {
			return nil, fmt.Errorf("merge the configuration: %w", err)
		}
		for key, source := range l.sources {
			sources[key] = source
		}
	}
	cfg := &Config{}
	if err := v.Unmarshal(cfg); err != nil {
		return nil, fmt.Errorf("decode the configuration: %w", err)
	}
	pattern, err := regexp.Compile("^(?:" + cfg.IDPatternText + ")$")
	if err != nil {
		problems.addMistake(sources["id_pattern"], "id_pattern is not a regular expression: %v", err)
	}
	cfg.IDPattern = pattern
	if err == nil {
		cfg.SessionPattern, err = regexp.Compile("^(?:" + cfg.IDPatternText + ")(?:" + state.CalledIDPattern + ")?$")
		if err != nil {
			return nil, fmt.Errorf("compile id_pattern: %w", err)
		}
	}
	if sources["on_conflict"] == "default" {
		cfg.OnConflict = "" // the user has not chosen, so the gate judges edits made after it failed
	}
	cfg.settings = func() (settings []Setting) {
		for _, k := range Keys() {
			settings = append(settings, Setting{Key: k.Name, Value: v.Get(k.Name), Source: state.Text(sources[k.Name])})
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
