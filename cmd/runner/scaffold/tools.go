package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
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
			phases = append(phases, phase{name: s.phase, comment: nodePhase(s.phase), steps: []step{
				runs("make-"+s.target, "Name its inputs, so that it runs only when they change.", []string{"make", s.target}, reads("**", "!*.hcl", "!.*")),
			}})
		}
	}
	if len(phases) == 0 {
		command := []string{"make"}
		if len(targets) > 0 {
			command = append(command, targets[0])
		}
		phases = []phase{{name: "build", comment: "The first target of the Makefile.", steps: []step{
			runs("make", "Name its inputs, so that it runs only when they change.", command, reads("**", "!*.hcl", "!.*")),
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
	sources := reads(path.Join(dir, "*.tf"))
	initialised := step{name: "terraform-init", comment: "The providers, without the state.", arguments: []argument{
		{"command", list("terraform", "init", "-backend=false", "-input=false")}, in, sources,
	}}
	valid := step{name: "terraform-validate", comment: "Is it right in itself?", arguments: []argument{
		{"depends_on", "[workstream.terraform-init]"}, {"command", list("terraform", "validate")}, in, sources,
	}, blocks: []string{`gate "terraform-format" { command = ["terraform", "fmt", "-check", "-recursive", ` + quoted(dir) + `] }`}}
	return file, []phase{{name: "infrastructure", comment: "The infrastructure is checked, and not changed.", steps: []step{initialised, valid}}}
}

func findDocker(p project) (string, []phase) {
	if !p.has("Dockerfile") {
		return "", nil
	}
	script := "docker build -t \"$IMAGE\" .\necho \"image=$IMAGE\" >> \"$RUNNER_OUTPUT\""
	image := step{name: "docker-image", comment: "Others find its name in workstream.docker-image.outputs.image.", arguments: []argument{
		{"script", "<<-EOT\n" + script + "\nEOT"}, {"env", `{ IMAGE = "app:dev" }`}, reads("**", "!*.hcl", "!.*"),
	}}
	return "Dockerfile", []phase{{name: "image", comment: "The image.", steps: []step{image}}}
}

// findMonorepo recognises packages below the directories that monorepos have them in, each with a file of its language.
func findMonorepo(p project) (string, []phase) {
	for _, m := range []struct {
		marker, comment string
		command         string // in the directory of a package
		root            string // the file that makes the whole of it; "": the packages themselves
	}{
		{"go.mod", "go test", "go vet ./... && go test ./...", "go.work"},
		{"package.json", "npm test", "npm test --if-present", "package.json"},
		{"Cargo.toml", "cargo test", "cargo test", "Cargo.toml"},
		{"pyproject.toml", "python tests", "python3 -m compileall -q . && if ls test*.py tests/test*.py > /dev/null 2>&1; then python3 -m unittest discover; fi", ""},
		{"Makefile", "make test", "make test", ""},
	} {
		dirs := p.packages(m.marker)
		if len(dirs) < 2 {
			continue
		}
		file := m.root
		if file == "" || !p.has(file) {
			file = path.Join(dirs[0], m.marker)
		}
		return file, []phase{{name: "test", comment: "Packages are tested side by side. An edit tests the packages that it touches.", steps: []step{{
			name: "package", comment: fmt.Sprintf("One instance for each directory with a %s. Let packages wait for others with depends_on: \"runner help monorepo\".", m.marker),
			arguments: []argument{
				{"for_each", "toset(" + list(dirs...) + ")"}, {"script", quoted(m.command)}, {"dir", "each.value"},
				{"inputs", `["${each.value}/**", "!${each.value}/node_modules", "!${each.value}/target"]`},
			},
		}}}}
	}
	return "", nil
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
