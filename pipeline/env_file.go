package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/go-envparse"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/glob"
)

// envFileArgument is the name of the argument that names dotenv files.
const envFileArgument = "env_file"

// EnvFileError says why a dotenv file can't be used. It never holds anything of the file's
// content.
type EnvFileError struct {
	Path   string // relative to the workspace
	Line   int    // 0: the file as a whole
	Reason string
}

func (e *EnvFileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
}

// envFile is a dotenv file that was read for a process.
type envFile struct {
	path  string
	names []string // of its variables, sorted; none if it can't be read
}

// EnvFileSecrets returns the sensitive values in the dotenv files of the pipeline, as far as
// the files exist and can be read now.
func (p *Pipeline) EnvFileSecrets() []Secret {
	var secrets []Secret
	for _, name := range p.EnvFiles {
		values, err := readEnvFile(p.scope.files, name)
		if err == nil {
			secrets = append(secrets, envFileSecrets(name, values)...)
		}
	}
	return secrets
}

// envFileSecrets returns the sensitive values of a dotenv file: all but booleans and those
// that are too short to be masked, since many settings are no secret.
func envFileSecrets(name string, values map[string]string) []Secret {
	var secrets []Secret
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		value := values[variable]
		boolean := strings.EqualFold(value, "true") || strings.EqualFold(value, "false")
		if !boolean && len(strings.TrimSpace(value)) >= minSecretLength {
			secrets = append(secrets, Secret{Variable: variable + " in " + name, Value: value})
		}
	}
	return secrets
}

// frameOf returns the values that an argument of a process may use, if the process may use
// those of a frame. Which dotenv files there are must be known before anything runs. Secrets
// are only for processes that run in a session, as those that may use run.
func (a *argument) frameOf(fr frame) frame {
	switch {
	case a.name == envFileArgument:
		fr.allow, fr.noResults = fr.allow&kindStatic, ""
	case fr.allow&kindRun != 0:
		fr.allow |= kindSecret
	}
	return fr
}

// readEnvFiles adds the variables of dotenv files to the environment.
func (p *processDef) readEnvFiles(ev *evaluation, a *argument, fr frame, diags *hcl.Diagnostics) {
	value, more := p.scope.evaluate(a, a.frameOf(fr), cty.DynamicPseudoType)
	if *diags = append(*diags, more...); more.HasErrors() {
		return
	}
	value, marked := withoutMarks(value)
	if marked {
		*diags = append(*diags, sensitiveNotAllowed(fmt.Sprintf("the argument %q", a.name), a.exprRange()))
		return
	}
	paths, err := envFilePaths(value)
	if err != nil {
		*diags = append(*diags, a.unsuitable(err))
		return
	}
	ev.opaque = append(ev.opaque, a)
	for _, name := range paths {
		values, failed := readEnvFile(p.scope.files, name)
		if failed != nil && ev.envFileError == nil {
			ev.envFileError = failed
		}
		names := slices.Sorted(maps.Keys(values))
		for _, variable := range names {
			ev.set(variable, a, values[variable])
		}
		ev.envFiles = append(ev.envFiles, envFile{name, names})
		ev.hidden = append(ev.hidden, envFileSecrets(name, values)...)
	}
}

// HasEnvFiles reports whether the process of the workstream, or of a service that it needs, gets
// variables of dotenv files.
func (w *Workstream) HasEnvFiles() bool {
	scope := w.def.scope
	return w.def.process.hasEnvFiles() || slices.ContainsFunc(scope.withNeeds(w.Services), func(name string) bool {
		return scope.services[name].process.hasEnvFiles()
	})
}

func (p *processDef) hasEnvFiles() bool {
	for a := range p.arguments {
		if a.name == envFileArgument {
			return true
		}
	}
	return false
}

// envFilePaths returns the paths in a value, which is a text or a list of texts. It returns
// none for a value that is not known.
func envFilePaths(value cty.Value) ([]string, error) {
	if value.IsNull() || !value.IsWhollyKnown() {
		return nil, nil
	}
	if value.Type() == cty.String {
		value = cty.TupleVal([]cty.Value{value})
	}
	paths, err := toStrings(value)
	if err != nil {
		return nil, fmt.Errorf("a path or a list of paths is needed, but %w", err)
	}
	for i, name := range paths {
		if !glob.Inside(name) {
			return nil, errOutside
		}
		paths[i] = path.Clean(name)
	}
	return paths, nil
}

// readEnvFile returns the variables of a dotenv file of the workspace.
func readEnvFile(workspace *files.Workspace, name string) (map[string]string, *EnvFileError) {
	data, err := workspace.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &EnvFileError{Path: name, Reason: "there is no such file, and env_file names it; create it, or remove it from env_file"}
	case err != nil:
		return nil, &EnvFileError{Path: name, Reason: err.Error()}
	}
	values := map[string]string{}
	for i, line := range bytes.Split(data, []byte("\n")) {
		variable, value, reason := parseEnvLine(line)
		if reason == "" && variable != "" {
			if err := checkEnvName(variable); err != nil {
				reason = err.Error()
			}
		}
		switch {
		case reason != "":
			return nil, &EnvFileError{Path: name, Line: i + 1, Reason: reason}
		case variable != "":
			values[variable] = value
		}
	}
	return values, nil
}

// parseEnvLine parses a line of a dotenv file. It returns no variable for an empty line or
// a comment. The reason of a mistake holds nothing of the line.
//
// The parser would end a value at any # outside of quotes, also within a password. So it
// sees another character in place of each #, and this function finds the comment: it begins
// after white space, where no quote is open.
func parseEnvLine(line []byte) (variable, value, reason string) {
	const standIn = "\x7f"
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0 || line[0] == '#':
		return "", "", ""
	case bytes.Contains(line, []byte(standIn)):
		return "", "", `a value holds a control character, which is \u007f between double quotes`
	}
	if rest, exported := bytes.CutPrefix(line, []byte("export")); exported && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
		line = bytes.TrimSpace(rest)
	}
	text := strings.ReplaceAll(string(line), "#", standIn)
	values, err := envparse.Parse(strings.NewReader(text))
	for i := 1; i < len(line); i++ {
		if line[i] != '#' || line[i-1] != ' ' && line[i-1] != '\t' {
			continue
		}
		if before, failed := envparse.Parse(strings.NewReader(text[:i])); failed == nil {
			values, err = before, nil
			break
		}
	}
	if err != nil {
		return "", "", explainEnvLine(string(line), err)
	}
	for name, text := range values {
		variable, value = name, strings.ReplaceAll(text, standIn, "#")
	}
	return variable, value, ""
}

// explainEnvLine says what is wrong with a line of a dotenv file.
func explainEnvLine(line string, err error) string {
	if wrong := new(envparse.ParseError); errors.As(err, &wrong) { // it has no Unwrap
		err = wrong.Err
	}
	name, _, _ := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	switch {
	case errors.Is(err, envparse.ErrMissingSeparator):
		return "there is no =; a line is NAME=VALUE, empty, or a comment that begins with #"
	case !isPlainIdentifier(name):
		return "what stands before = is no name of a variable; names have letters, digits and _, and do not begin with a digit"
	case errors.Is(err, envparse.ErrUnmatchedDouble), errors.Is(err, envparse.ErrUnmatchedSingle):
		return `a quote is not closed on this line; a line break in a value is \n between double quotes`
	}
	return `a value holds a control character, or between double quotes a backslash that begins no escape of JSON, such as \n or \\; between single quotes each character stands for itself`
}
