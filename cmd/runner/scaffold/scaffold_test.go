package scaffold_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/cmd/runner/scaffold"
	"prdrunner/pipeline"
	"prdrunner/pipeline/glob"
)

func files(list map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range list {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// TestFind: projects are recognised by their files, and each gets a pipeline without mistakes, which is formatted.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		kinds []string
		want  []string // what the pipeline says
		not   []string
	}{
		"nothing":           {map[string]string{"README.md": ""}, nil, nil, nil},
		"a Go library":      {map[string]string{"go.mod": "module x", "x.go": "package x"}, []string{"go"}, []string{`"go", "vet"`, `"go", "test"`}, []string{"go-build"}},
		"a Go program":      {map[string]string{"go.mod": "module x", "go.sum": "", "cmd/x/main.go": "// x\npackage main\n"}, []string{"go"}, []string{`"go", "build"`, `"bin/*"`, `inputs = ["**", "!*.hcl", "!runner.yaml", "!**/.*/**", "!**/node_modules/**", "!**/__pycache__/**", "!bin/**"`}, nil},
		"npm":               {map[string]string{"package.json": `{"scripts": {"test": "x", "build": "y"}, "dependencies": {"a": "1"}}`, "package-lock.json": ""}, []string{"node"}, []string{`"npm", "ci"`, `"npm", "run", "test"`, `"npm", "run", "build"`}, []string{"lint"}},
		"pnpm":              {map[string]string{"package.json": `{"scripts": {"lint": "x"}, "devDependencies": {"a": "1"}}`, "pnpm-lock.yaml": ""}, []string{"node"}, []string{`"pnpm", "install", "--frozen-lockfile"`, `"pnpm", "run", "lint"`}, []string{"npm ci"}},
		"a bare npm":        {map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, []string{"node"}, []string{`"node", "-e"`}, []string{`"run", "test"`, "install"}},
		"a broken npm":      {map[string]string{"package.json": `{`}, []string{"node"}, []string{`"node", "-e"`}, nil},
		"pytest, no tests":  {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]", "x/test.py": "", ".venv/test_x.py": ""}, []string{"python"}, []string{"compileall"}, []string{"pytest"}},
		"pytest":            {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]", "x/y/test_x.py": ""}, []string{"python"}, []string{"compileall", `"pytest"`}, []string{"unittest"}},
		"unittest":          {map[string]string{"setup.py": "", "tests/test_x.py": "import unittest"}, []string{"python"}, []string{`"discover", "-s", "tests"`}, []string{`"pytest"`}},
		"Rust":              {map[string]string{"Cargo.toml": "", "Cargo.lock": ""}, []string{"rust"}, []string{`"cargo", "test", "--workspace"`, `inputs = ["**"`}, nil},
		"Maven, wrapped":    {map[string]string{"pom.xml": "", "mvnw": ""}, []string{"java"}, []string{`"./mvnw", "-B", "verify"`}, nil},
		"Gradle in Kotlin":  {map[string]string{"build.gradle.kts": ""}, []string{"java"}, []string{`"gradle", "--console=plain", "build"`, "for Java (build.gradle.kts)"}, nil},
		"Maven":             {map[string]string{"pom.xml": "<artifactId>x</artifactId>"}, []string{"java"}, []string{`"mvn", "-B", "verify"`, "target/*.jar"}, nil},
		"Maven, modules":    {map[string]string{"pom.xml": "<packaging>pom</packaging><modules></modules>"}, []string{"java"}, []string{`"!*/target/**"`}, []string{"artifacts"}},
		"Gradle, modules":   {map[string]string{"settings.gradle": "include 'a'", "a/build.gradle": "id 'java'"}, []string{"java"}, []string{`"gradle", "--console=plain", "build"`}, []string{"artifacts"}},
		"Gradle":            {map[string]string{"settings.gradle": "", "build.gradle": "id 'java'"}, []string{"java"}, []string{"build/libs/*.jar"}, nil},
		"tests of others":   {map[string]string{"setup.py": "", "tests/test_x.py": "def test_x(): pass"}, []string{"python"}, []string{"compileall", "nothing says what runs them"}, []string{"unittest"}},
		"Android":           {map[string]string{"build.gradle": "id 'com.android.application'"}, []string{"java"}, []string{`"gradle", "--console=plain", "build"`}, []string{"artifacts"}},
		"a directory bin":   {map[string]string{"go.mod": "module x", "main.go": "package main", "bin/setup.sh": ""}, []string{"go"}, []string{`"dist/*"`}, []string{`"!bin/**"`}},
		"bin, ignored":      {map[string]string{"go.mod": "module x", "main.go": "package main", "bin/x": "", ".gitignore": "/bin/\n"}, []string{"go"}, []string{`"bin/*"`, `"!bin/**"`}, nil},
		"make":              {map[string]string{"Makefile": "CC := cc\nall: x\n\ttrue\ntest: x\n\ttrue\n"}, []string{"make"}, []string{`"make", "test"`, `"make", "all"`}, []string{`"make", "CC"`}},
		"make, other words": {map[string]string{"Makefile": "site:\n\ttrue\n"}, []string{"make"}, []string{`"make", "site"`}, nil},
		"make beside Go":    {map[string]string{"Makefile": "test:\n", "go.mod": ""}, []string{"go"}, nil, nil},
		"Terraform":         {map[string]string{"infra/main.tf": ""}, []string{"terraform"}, []string{`dir = "infra"`, `"terraform", "validate"`, "terraform-format"}, nil},
		"Terraform modules": {map[string]string{"infra/main.tf": "module \"a\" {\n  source = \"./a\"\n}\nmodule \"b\" {\n  source = \"../modules/b\"\n}\nmodule \"c\" {\n  source = \"../../c\"\n}\n"}, []string{"terraform"}, []string{`"infra/**/*.tf", "!**/.terraform", "modules/b/**/*.tf"]`}, nil},
		"Go and Docker":     {map[string]string{"go.mod": "", "Dockerfile": ""}, []string{"go", "docker"}, []string{`phase "image"`, "docker build"}, nil},
		"a Go workspace":    {map[string]string{"go.work": "use (\n\t./api\n\t./web\n)\n", "api/go.mod": "", "web/go.mod": ""}, []string{"monorepo"}, []string{`toset(["api", "web"])`, "go test"}, nil},
		"npm workspaces":    {map[string]string{"package.json": `{"workspaces": ["packages/*"]}`, "packages/b/package.json": "{}", "packages/a/package.json": "{}"}, []string{"monorepo"}, []string{`toset(["packages/a", "packages/b"])`, `"npm", "install"`, `inputs = ["package.json", "packages/a/package.json", "packages/b/package.json"]`, `inputs = ["packages/**", "!**/.*/**"`, `"!packages/*/dist/**"`, `"package.json"]`}, []string{"[ ! -d node_modules ]"}},
		"packages of npm":   {map[string]string{"apps/a/package.json": "{}", "apps/b/package.json": "{}"}, []string{"monorepo"}, []string{"[ ! -d node_modules ]"}, []string{`phase "install"`}},
		"two languages":     {map[string]string{"go.work": "use ./services/a", "services/a/go.mod": "", "services/a/Makefile": "", "apps/b/package.json": "{}", "package.json": "{}"}, []string{"monorepo", "node"}, []string{`"go-package"`, `toset(["services/a"])`, `"node-package"`, `toset(["apps/b"])`}, []string{"make"}},
		"services in make":  {map[string]string{"services/a/Makefile": "", "services/b/Makefile": ""}, []string{"monorepo"}, []string{"make test"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := scaffold.Find(files(test.files))
			var kinds []string
			found = slices.DeleteFunc(found, func(f scaffold.Found) bool { return f.Covered })
			for _, f := range found {
				kinds = append(kinds, f.Name)
			}
			if diff := cmp.Diff(test.kinds, kinds); diff != "" {
				t.Fatal(diff)
			}
			if len(found) == 0 {
				return
			}
			source := scaffold.Pipeline("PRD-001", "A ${title}", found)
			f, _ := pipeline.Parse(source, "PRD-001.hcl")
			if _, diags := f.Pipeline(pipeline.Inputs{Workspace: t.TempDir()}); len(diags) > 0 {
				t.Errorf("%v\n%s", diags, source)
			}
			if !bytes.Equal(source, pipeline.Format(source)) {
				t.Errorf("not formatted:\n%s", source)
			}
			spaces := strings.Join(strings.Fields(string(source)), " ")
			for _, want := range test.want {
				if !strings.Contains(spaces, want) {
					t.Errorf("it does not say %s:\n%s", want, source)
				}
			}
			for _, not := range test.not {
				if strings.Contains(spaces, not) {
					t.Errorf("it says %s:\n%s", not, source)
				}
			}
		})
	}
}

// TestInputs: what a step may read is an input, and what programs write is none.
func TestInputs(t *testing.T) {
	t.Parallel()
	found := scaffold.Find(files(map[string]string{"go.mod": "module x", "build/make.go": "package build"}))
	source := scaffold.Pipeline("PRD-001", "x", found)
	f, _ := pipeline.Parse(source, "PRD-001.hcl")
	p, diags := f.Pipeline(pipeline.Inputs{Workspace: t.TempDir()})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	patterns := glob.Patterns(p.Phases[0].Workstreams[0].Inputs)
	for path, want := range map[string]bool{
		"go.mod": true, "cmd/x/words.txt": true, ".golangci.yml": true, "a/.eslintrc.json": true, "build/make.go": true, "a/testdata/x.hcl": true,
		"PRD-001.hcl": false, "runner.yaml": false, ".git/config": false, ".gradle/x": false, "a/.next/y/z": false, "node_modules/x/y.js": false, "a/node_modules/x": false, "bin/x": false, "dist/a/b": false, "a/__pycache__/x.pyc": false,
	} {
		if got := tree.MatchesAny(patterns, path); got != want {
			t.Errorf("%s is an input: %v", path, got)
		}
	}
}

// TestKinds: a kind has a name for the command line and one for people.
func TestKinds(t *testing.T) {
	t.Parallel()
	var names []string
	for _, k := range scaffold.Kinds() {
		if k.Name == "" || k.Title == "" || slices.Contains(names, k.Name) {
			t.Errorf("the kind %+v has no name of its own", k.Name)
		}
		names = append(names, k.Name)
	}
}
