package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/schema"
	"prdrunner/cmd/runner/show"
)

// wrongForm is the exit code of a command of the tests that prints JSON of another form than its schema says.
const wrongForm = 99

// checkedRunner is the program that the tests run as runner. What it prints with --json is compared with the schema of the command.
func checkedRunner() {
	if !slices.Contains(os.Args, "--json") {
		main()
	}
	env := cli.ThisProcess()
	var printed bytes.Buffer
	env.Stdout = show.NewScreen(io.MultiWriter(os.Stdout, &printed))
	ctx := env.Signals.Catch(context.Background(), func(name, what string) { endAtOnce(env, name, what) })
	code := execute(ctx, env)
	if err := checkPrinted(env, printed.Bytes()); err != nil {
		fmt.Fprintf(os.Stderr, "%s\n%v\n", strings.Join(os.Args, " "), err)
		code = wrongForm
	}
	os.Exit(code)
}

// checkPrinted compares what a command has printed with the schema of the command.
func checkPrinted(env *cli.Environment, printed []byte) error {
	if len(bytes.TrimSpace(printed)) == 0 {
		return nil
	}
	cmd, _, err := newRootCommand(env).Find(env.Args)
	if err != nil {
		return nil //nolint:nilerr // an unknown command has no schema
	}
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return checkForm(schema.OfCommand(path), printed)
}

// checkForm compares JSON with a schema. Fields that the schema does not have are a mistake, though a later version may add some.
func checkForm(name string, data []byte) error {
	compiled, err := compileStrictly(name)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("the schema %s says otherwise: %w", name, err)
	}
	return nil
}

func compileStrictly(name string) (*jsonschema.Schema, error) {
	text, ok := schema.Find(name)
	if !ok {
		return nil, fmt.Errorf("there is no schema %s", name)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if name != "events" { // the common fields of a line stand beside those of its kind
		forbidOthers(document)
	}
	const at = "urn:runner:" // of no file: the working directory may have any name
	c := jsonschema.NewCompiler()
	if err := c.AddResource(at+name, document); err != nil {
		return nil, err
	}
	return c.Compile(at + name)
}

// forbidOthers makes fields that a schema does not name a mistake.
func forbidOthers(document any) {
	switch document := document.(type) {
	case map[string]any:
		if _, has := document["properties"].(map[string]any); has && document["type"] == "object" && document["additionalProperties"] == nil {
			document["additionalProperties"] = false
		}
		for _, value := range document {
			forbidOthers(value)
		}
	case []any:
		for _, value := range document {
			forbidOthers(value)
		}
	}
}

// TestEveryJSONHasASchema: each command with --json has a schema, and each schema compiles.
func TestEveryJSONHasASchema(t *testing.T) {
	t.Parallel()
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := compileStrictly(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	with := 0
	for path, cmd := range leaves(commandLine(t)) {
		if cmd.Flags().Lookup("json") == nil {
			continue
		}
		with++
		_, name, _ := strings.Cut(path, " ")
		if !slices.Contains(names, schema.OfCommand(name)) {
			t.Errorf("%s --json has no schema", path)
		}
	}
	if with < 30 {
		t.Errorf("only %d commands have --json", with)
	}
}

// TestConfigForm: the runner.yaml of init is as its schema says, and an unknown key is not.
func TestConfigForm(t *testing.T) {
	t.Parallel()
	for source, valid := range map[string]bool{configTemplate: true, "checkpoint: {git: {mode: ref}}": true, "nonsense: 1": false, "on_stale: never": false, "parallel: many": false} {
		var value any
		if err := yaml.Unmarshal([]byte(source), &value); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkForm("runner-yaml", data); (err == nil) != valid {
			t.Errorf("%.40q: %v", source, err)
		}
	}
}
