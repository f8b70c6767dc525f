package scaffold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

func findGo(p project) (string, []phase) {
	if !p.has("go.mod") {
		return "", nil
	}
	sources := p.reading() // not only *.go: programs embed other files, and tests read them
	phases := []phase{
		{name: "check", comment: "What takes seconds comes first.", steps: []step{
			runs("go-vet", "Mistakes that the compiler lets pass. Leave out what Go does not read, such as \"!docs\".", []string{"go", "vet", "./..."}, reads(sources...), pure()),
		}},
		{name: "test", comment: "Tests.", steps: []step{
			runs("go-test", "All packages.", []string{"go", "test", "./..."}, reads(sources...), pure()),
		}},
	}
	if p.hasGoMain() {
		dir := "bin"
		if !p.isMade(dir) {
			dir = "dist"
		}
		phases = append(phases, phase{name: "build", comment: "The programs.", steps: []step{
			runs("go-build", "Each main package becomes a program in "+dir+".", []string{"go", "build", "-o", dir + "/", "./..."}, reads(sources...), makes(dir+"/*"), pure()),
		}})
	}
	return "go.mod", phases
}

// hasGoMain reports whether a module has a program at its top or below cmd.
func (p project) hasGoMain() bool {
	for _, pattern := range []string{"*.go", "cmd/*.go", "cmd/*/*.go"} {
		matches, _ := fs.Glob(p.files, pattern)
		if slices.ContainsFunc(matches, func(file string) bool { return regexp.MustCompile(`(?m)^package main\b`).MatchString(p.read(file)) }) {
			return true
		}
	}
	return false
}

func findRust(p project) (string, []phase) {
	if !p.has("Cargo.toml") {
		return "", nil
	}
	sources := p.reading()
	return "Cargo.toml", []phase{
		{name: "check", comment: "What takes seconds comes first.", steps: []step{
			runs("cargo-check", "Does it compile?", []string{"cargo", "check", "--all-targets"}, reads(sources...)),
		}},
		{name: "test", comment: "Tests.", steps: []step{
			runs("cargo-test", "All of the workspace.", []string{"cargo", "test", "--workspace"}, reads(sources...)),
		}},
	}
}

func findJava(p project) (string, []phase) {
	gradle := p.first("build.gradle*")
	switch settings := p.first("settings.gradle*"); {
	case p.has("pom.xml"):
		command := "mvn"
		if p.has("mvnw") {
			command = "./mvnw"
		}
		s := runs("maven", "What it makes is in target.", []string{command, "-B", "verify"}, reads(append(p.reading(), "!*/target/**")...))
		if pom := p.read("pom.xml"); !strings.Contains(pom, "<modules>") && !strings.Contains(pom, "<packaging>") {
			s.arguments = append(s.arguments, makes("target/*.jar"))
		}
		return "pom.xml", []phase{{name: "test", comment: "Compile, test and pack.", steps: []step{s}}}
	case gradle != "" || settings != "":
		command := "gradle"
		if p.has("gradlew") {
			command = "./gradlew"
		}
		s := runs("gradle", "What it makes is in build.", []string{command, "--console=plain", "build"}, reads(append(p.reading(), "!*/build/**")...))
		makesJar := regexp.MustCompile(`(?m)(id[ (]+|apply plugin: )['"](java|java-library|application|org\.jetbrains\.kotlin\.jvm)['"]|kotlin\("jvm"\)|^\s*(java|application|` + "`java-library`" + `)\s*$`)
		if makesJar.MatchString(p.read(gradle)) && !strings.Contains(p.read(settings), "include") {
			s.arguments = append(s.arguments, makes("build/libs/*.jar"))
		}
		return cmp.Or(gradle, settings), []phase{{name: "test", comment: "Compile, test and pack.", steps: []step{s}}}
	}
	return "", nil
}

// nodePackage is what is used of a package.json.
type nodePackage struct {
	Scripts      map[string]string          `json:"scripts"`
	Dependencies map[string]json.RawMessage `json:"dependencies"`
	Development  map[string]json.RawMessage `json:"devDependencies"`
}

func (p project) nodePackage(file string) nodePackage {
	var n nodePackage
	_ = json.Unmarshal([]byte(p.read(file)), &n) // of one that can't be read nothing is known
	return n
}

// nodeManager returns the program that installs packages, how it is told to keep to the lock file, and that file.
func (p project) nodeManager() (program string, install []string, lock string) {
	switch {
	case p.has("pnpm-lock.yaml"):
		return "pnpm", []string{"pnpm", "install", "--frozen-lockfile"}, "pnpm-lock.yaml"
	case p.has("yarn.lock"):
		return "yarn", []string{"yarn", "install", "--frozen-lockfile"}, "yarn.lock"
	case p.has("package-lock.json"):
		return "npm", []string{"npm", "ci"}, "package-lock.json"
	}
	return "npm", []string{"npm", "install", "--no-save"}, ""
}

func findNode(p project) (string, []phase) {
	if !p.has("package.json") {
		return "", nil
	}
	n := p.nodePackage("package.json")
	program, install, lock := p.nodeManager()
	var phases []phase
	if len(n.Dependencies)+len(n.Development) > 0 {
		phases = append(phases, installs(install, lock))
	}
	sources := p.reading()
	for _, s := range []struct{ script, phase, comment string }{
		{"lint", "check", "Style, and mistakes."}, {"typecheck", "check", "Types."}, {"test", "test", "Tests."}, {"build", "build", "Name what it makes, as in artifacts = [\"dist/**\"]: Runner keeps that, and makes it again if it is gone."},
	} {
		if n.Scripts[s.script] == "" || s.script == "test" && strings.Contains(n.Scripts[s.script], "no test specified") {
			continue
		}
		phases = append(phases, phase{name: s.phase, comment: phaseComment(s.phase), steps: []step{
			runs("node-"+s.script, s.comment, []string{program, "run", s.script}, reads(sources...)),
		}})
	}
	if len(phases) == 0 {
		phases = append(phases, phase{name: "check", comment: phaseComment("check"), steps: []step{
			runs("syntax", "package.json has no scripts yet: see that it can be read.", []string{"node", "-e", "require('./package.json')"}, reads("package.json"), pure()),
		}})
	}
	return "package.json", mergePhases(phases)
}

// installs returns the phase that installs packages. more are further files on which they depend.
func installs(command []string, lock string, more ...string) phase {
	files := append([]string{"package.json"}, more...)
	if lock != "" {
		files = append(files, lock)
	}
	return phase{
		name: "install", comment: "The packages that others have written.",
		steps: []step{runs("packages", fmt.Sprintf("Runner does not keep node_modules. A CI machine that goes on without it needs %q before \"runner build\".", strings.Join(command, " ")), command, reads(files...))},
	}
}

// phaseComment says what the steps of a phase are for.
func phaseComment(name string) string {
	switch name {
	case "check":
		return "What takes seconds comes first."
	case "test":
		return "Tests."
	}
	return "What others use."
}

// mergePhases joins phases of the same name.
func mergePhases(phases []phase) []phase { return joined([]Found{{phases: phases}}) }

func findPython(p project) (string, []phase) {
	file := ""
	for _, candidate := range []string{"pyproject.toml", "setup.py", "requirements.txt"} {
		if file == "" && p.has(candidate) {
			file = candidate
		}
	}
	if file == "" {
		return "", nil
	}
	sources := p.reading()
	syntax := "Syntax of all files."
	hasTests := p.hasBelow("test_*.py", "*_test.py")
	byUnittest := strings.Contains(p.read(p.first(p.testDir()+"/test*.py")), "unittest") // it finds no other tests, and fails then
	if hasTests && !byUnittest && !p.usesPytest() {
		syntax += " There are tests, and nothing says what runs them: add a workstream that does."
	}
	phases := []phase{{name: "check", comment: "What takes seconds comes first.", steps: []step{
		runs("compile", syntax, []string{"python3", "-m", "compileall", "-q", "-x", `(^|/)\.?venv/`, "."}, reads(sources...)),
	}}}
	switch {
	case p.usesPytest() && hasTests: // pytest fails if it finds no test
		phases = append(phases, phase{name: "test", comment: "Tests. pytest must be installed.", steps: []step{
			runs("pytest", "All tests.", []string{"python3", "-m", "pytest", "-q"}, reads(sources...)),
		}})
	case byUnittest:
		phases = append(phases, phase{name: "test", comment: "Tests.", steps: []step{
			runs("unittest", "All tests.", []string{"python3", "-m", "unittest", "discover", "-s", p.testDir()}, reads(sources...)),
		}})
	}
	return file, phases
}

func (p project) usesPytest() bool {
	if p.has("pytest.ini") || p.has("conftest.py") || p.has("tests/conftest.py") {
		return true
	}
	for _, file := range []string{"pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"} {
		if strings.Contains(p.read(file), "pytest") {
			return true
		}
	}
	return false
}

func (p project) testDir() string {
	for _, dir := range []string{"tests", "test"} {
		if p.has(dir + "/test*.py") {
			return dir
		}
	}
	return "."
}
