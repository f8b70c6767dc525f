package scaffold

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

func findMake(p project) (string, []phase) {
	file := ""
	for _, candidate := range []string{"GNUmakefile", "Makefile", "makefile"} {
		if file == "" && p.has(candidate) {
			file = candidate
		}
	}
	if file == "" {
		return "", nil
	}
	var targets []string
	for _, found := range regexp.MustCompile(`(?m)^([a-zA-Z][\w-]*)\s*:([^=]|$)`).FindAllStringSubmatch(p.read(file), -1) {
		targets = append(targets, found[1])
	}
	var phases []phase
	for _, s := range []struct{ target, phase string }{{"lint", "check"}, {"check", "check"}, {"test", "test"}, {"build", "build"}, {"all", "build"}} {
		if slices.Contains(targets, s.target) && (s.target != "all" || !slices.Contains(targets, "build")) {
			phases = append(phases, phase{name: s.phase, comment: phaseComment(s.phase), steps: []step{
				runs("make-"+s.target, "Name its inputs, so that it runs only when they change.", []string{"make", s.target}, reads(p.reading()...)),
			}})
		}
	}
	if len(phases) == 0 {
		command := []string{"make"}
		if len(targets) > 0 {
			command = append(command, targets[0])
		}
		phases = []phase{{name: "build", comment: "The first target of the Makefile.", steps: []step{
			runs("make", "Name its inputs, so that it runs only when they change.", command, reads(p.reading()...)),
		}}}
	}
	return file, mergePhases(phases)
}

func findTerraform(p project) (string, []phase) {
	dir := "."
	file := p.first("*.tf")
	for _, candidate := range []string{"terraform", "infra", "infrastructure"} {
		if file == "" && p.has(candidate+"/*.tf") {
			dir, file = candidate, p.first(candidate+"/*.tf")
		}
	}
	if file == "" {
		return "", nil
	}
	in := argument{"dir", quoted(dir)}
	sources := reads(append([]string{path.Join(dir, "**/*.tf"), "!**/.terraform"}, p.modulesOutside(dir)...)...)
	initialised := step{name: "terraform-init", comment: "The providers, without the state.", arguments: []argument{
		{"command", list("terraform", "init", "-backend=false", "-input=false")}, in, sources,
	}}
	valid := step{name: "terraform-validate", comment: "Is it right in itself?", arguments: []argument{
		{"depends_on", "[workstream.terraform-init]"}, {"command", list("terraform", "validate")}, in, sources,
	}, blocks: []string{`gate "terraform-format" { command = ["terraform", "fmt", "-check", "-recursive", ` + quoted(dir) + `] }`}}
	return file, []phase{{name: "infrastructure", comment: "The infrastructure is checked, and not changed.", steps: []step{initialised, valid}}}
}

// modulesOutside returns globs of the local modules that Terraform files refer to and that are not below their directory.
func (p project) modulesOutside(dir string) []string {
	var globs []string
	files, _ := fs.Glob(p.files, path.Join(dir, "*.tf"))
	for _, file := range files {
		for _, found := range regexp.MustCompile(`(?m)^\s*source\s*=\s*"(\.\./[^"]+)"`).FindAllStringSubmatch(p.read(file), -1) {
			glob := path.Join(dir, found[1], "**/*.tf")
			if fs.ValidPath(path.Dir(path.Dir(glob))) && !slices.Contains(globs, glob) {
				globs = append(globs, glob)
			}
		}
	}
	return globs
}

func findDocker(p project) (string, []phase) {
	if !p.has("Dockerfile") {
		return "", nil
	}
	image := step{name: "docker-image", comment: "Others find its name in workstream.docker-image.outputs.image.", arguments: []argument{
		script("docker build -t \"$IMAGE\" .\necho \"image=$IMAGE\" >> \"$RUNNER_OUTPUT\""), {"env", `{ IMAGE = "app:dev" }`}, reads(p.reading()...),
	}}
	return "Dockerfile", []phase{{name: "image", comment: "The image.", steps: []step{image}}}
}

// language is how the packages of a monorepo that have a file are tested, each in its own directory.
type language struct {
	kind    string // the kind of project with that file at the top
	marker  string // the file
	command string
	shared  []string // files at the top that count for all packages, if they are there
	// whole returns the file at the top that makes the packages a whole, "" if there is none.
	whole func(p project) string
}

func languages() []language {
	return []language{
		{"go", "go.mod", "go vet ./... && go test ./...", []string{"go.work", "go.work.sum"}, func(p project) string { return p.first("go.work") }},
		{"node", "package.json", "npm test --if-present", []string{"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"}, project.nodeWorkspace},
		{"rust", "Cargo.toml", "cargo test", []string{"Cargo.toml", "Cargo.lock"}, func(p project) string {
			if strings.Contains(p.read("Cargo.toml"), "[workspace]") {
				return "Cargo.toml"
			}
			return ""
		}},
		{"python", "pyproject.toml", pythonTests, nil, noWhole},
		{"make", "Makefile", "make test", nil, noWhole},
	}
}

func noWhole(project) string { return "" }

// pythonTests is a script that runs the tests of a package, if it has any: without tests, unittest fails.
const pythonTests = `python3 -m compileall -q .
for dir in . tests; do
  if grep -q unittest "$dir"/test*.py 2> /dev/null; then
    python3 -m unittest discover -s "$dir"
  elif ls "$dir"/test*.py > /dev/null 2>&1; then
    python3 -m pytest -q "$dir"
  fi
done`

// nodeWorkspace returns the file that makes packages a workspace, which is installed at its top.
func (p project) nodeWorkspace() string {
	if strings.Contains(p.read("package.json"), `"workspaces"`) {
		return "package.json"
	}
	return p.first("pnpm-workspace.yaml")
}

// packagesByLanguage returns the packages of each language. A package with the files of several is in the first one.
func (p project) packagesByLanguage() (dirs map[string][]string, count int) {
	dirs = map[string][]string{}
	var all []string
	for _, l := range languages() {
		own := slices.DeleteFunc(p.packages(l.marker), func(dir string) bool { return slices.Contains(all, dir) })
		if len(own) > 0 {
			dirs[l.kind], all = own, append(all, own...)
		}
	}
	return dirs, len(all)
}

// findMonorepo recognises packages below the directories that monorepos have them in, each with a file of its language.
func findMonorepo(p project) (string, []phase) {
	dirs, count := p.packagesByLanguage()
	if count < 2 {
		return "", nil
	}
	file := ""
	var phases []phase
	tests := phase{name: "test", comment: "Packages are tested side by side, and all of them after an edit of any. \"runner help monorepo\" says how to name what each needs."}
	var all []string
	for _, own := range dirs {
		all = append(all, own...)
	}
	slices.Sort(all)
	for _, l := range languages() {
		own := dirs[l.kind]
		if len(own) == 0 {
			continue
		}
		command, name := l.command, "package"
		if len(dirs) > 1 {
			name = l.kind + "-package"
		}
		whole := l.whole(p)
		switch {
		case l.kind == "node" && whole != "":
			phases = append(phases, p.installsWorkspace(own))
		case l.kind == "node":
			command = "if [ ! -d node_modules ]; then npm install --no-save; fi\n" + command
		}
		if file == "" {
			file = cmp.Or(whole, path.Join(own[0], l.marker))
		}
		tests.steps = append(tests.steps, step{
			name: name, comment: fmt.Sprintf("The directories with a %s. Add a new one here.", l.marker),
			arguments: []argument{{"for_each", "toset(" + list(own...) + ")"}, script(command), {"dir", "each.value"}, l.reading(p, all)},
		})
	}
	return file, append(phases, tests)
}

// reading returns the inputs of a package: the files of all packages, since it may need any of them, except what programs
// write, and the files that all packages share.
func (l language) reading(p project, packages []string) argument {
	var inputs, left []string
	for _, dir := range packages {
		within := dir
		if parent := path.Dir(dir); parent != "." { // packages/a: all that are beside it
			dir, within = parent, parent+"/*"
		}
		if slices.Contains(inputs, dir+"/**") {
			continue
		}
		inputs = append(inputs, dir+"/**")
		for _, made := range madeDirs() {
			if made = within + "/" + made; p.isMade(made) {
				left = append(left, "!"+made+"/**")
			}
		}
	}
	inputs = append(append(inputs, "!**/.*/**", "!**/node_modules/**", "!**/__pycache__/**"), left...)
	for _, shared := range l.shared {
		if p.has(shared) {
			inputs = append(inputs, shared)
		}
	}
	return reads(inputs...)
}

// monorepoCovers returns the kinds of project of which the top of a monorepo is nothing but the whole of its packages.
func monorepoCovers(p project) []string {
	var covers []string
	dirs, _ := p.packagesByLanguage()
	for _, l := range languages() {
		if len(dirs[l.kind]) > 0 && l.whole(p) != "" {
			covers = append(covers, l.kind)
		}
	}
	return covers
}

// installsWorkspace returns the phase that installs what the packages of a workspace depend on.
func (p project) installsWorkspace(dirs []string) phase {
	var files []string
	for _, dir := range dirs {
		files = append(files, path.Join(dir, "package.json"))
	}
	_, command, lock := p.nodeManager()
	return installs(command, lock, files...)
}

// packages returns the directories of packages with a file, sorted.
func (p project) packages(marker string) []string {
	var dirs []string
	for _, parent := range []string{"packages", "services", "apps", "libs", "modules", "crates"} {
		matches, _ := fs.Glob(p.files, parent+"/*/"+marker)
		for _, match := range matches {
			dirs = append(dirs, path.Dir(match))
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^\s*(?:use\s+)?\./([\w./-]+)\s*$`).FindAllStringSubmatch(p.read("go.work"), -1) {
		if marker == "go.mod" && p.has(path.Join(found[1], marker)) {
			dirs = append(dirs, found[1])
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
