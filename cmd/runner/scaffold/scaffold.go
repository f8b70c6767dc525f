// Package scaffold generates a first pipeline for a project. It recognises the kind of the project by its files, such as
// go.mod.
//
// The kinds of project and their workstreams belong here. The command `runner init` asks the user and writes the file. Where
// to begin:
//
//   - Find returns the kinds of which a project is, with what is done with each;
//   - Pipeline writes the file;
//   - languages.go and tools.go know what each kind looks like.
package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline"
)

// Kind is a kind of project.
type Kind struct {
	Name  string // what --template is given
	Title string // for people, such as Go
	find  func(p project) (found string, phases []phase)
	// covers returns the names of other kinds whose work is done with this one; nil: there are none.
	covers func(p project) []string
}

// Kinds returns the kinds of project that are known, in the order in which their work is done.
func Kinds() []Kind {
	return []Kind{
		{"monorepo", "packages of a monorepo", findMonorepo, monorepoCovers},
		{"go", "Go", findGo, nil},
		{"rust", "Rust", findRust, nil},
		{"java", "Java", findJava, nil},
		{"node", "Node.js", findNode, nil},
		{"python", "Python", findPython, nil},
		{"make", "make", findMake, nil},
		{"terraform", "Terraform", findTerraform, nil},
		{"docker", "Docker", findDocker, nil},
	}
}

// Found is a kind that a project is of.
type Found struct {
	Kind
	File    string // by which it was recognised
	Covered bool   // another kind that was found does its work, too
	phases  []phase
}

// phase is a stage of the work. Phases of the same name become one.
type phase struct {
	name, comment string
	steps         []step
	gates         []string // HCL
}

// step is a workstream.
type step struct {
	name, comment string
	arguments     []argument
	blocks        []string // HCL
}

// argument is an argument of a workstream, whose value is HCL.
type argument struct{ name, value string }

// project gives access to the files of a project.
type project struct{ files fs.FS }

// Find returns the kinds that a project is of.
func Find(files fs.FS) []Found {
	var all []Found
	var covered []string
	p := project{files}
	for _, k := range Kinds() {
		file, phases := k.find(p)
		if file == "" {
			continue
		}
		if k.covers != nil {
			covered = append(covered, k.covers(p)...)
		}
		others := slices.ContainsFunc(all, func(f Found) bool { return !f.Covered })
		all = append(all, Found{k, file, slices.Contains(covered, k.Name) || k.Name == "make" && others, phases}) // what make does is often the same again
	}
	return all
}

// mostEntries bounds how many files and directories are looked at in search of one.
const mostEntries = 20_000

// hasBelow reports whether there is a file, at any depth, whose name one of some patterns matches. It does not look into
// directories that hold the code of others.
func (p project) hasBelow(patterns ...string) bool {
	found, left := false, mostEntries
	_ = fs.WalkDir(p.files, ".", func(name string, e fs.DirEntry, err error) error { // what can't be read holds nothing
		left--
		switch base := path.Base(name); {
		case found || left == 0:
			return fs.SkipAll
		case err != nil, e.IsDir() && name != "." && (base[0] == '.' || slices.Contains([]string{"node_modules", "vendor", "venv", "target"}, base)):
			return fs.SkipDir
		default:
			found = !e.IsDir() && slices.ContainsFunc(patterns, func(pattern string) bool { match, _ := path.Match(pattern, base); return match })
		}
		return nil
	})
	return found
}

// reading returns globs for all files that a step may read. They leave out hidden directories, installed packages, and
// directories for results, such as dist. If such a directory exists and git does not ignore it, it may hold sources, and is not
// left out.
func (p project) reading() []string {
	globs := []string{"**", "!*.hcl", "!runner.yaml", "!**/.*/**", "!**/node_modules/**", "!**/__pycache__/**"}
	for _, dir := range madeDirs() {
		if p.isMade(dir) {
			globs = append(globs, "!"+dir+"/**")
		}
	}
	return globs
}

// madeDirs returns the directories that programs usually write.
func madeDirs() []string {
	return []string{"bin", "dist", "build", "out", "target", "coverage", "venv", "env"}
}

// isMade reports whether a directory is or will be one that programs write. The path may be a glob.
func (p project) isMade(dir string) bool {
	return !p.has(dir) || regexp.MustCompile(`(?m)^(\*\*)?/?`+path.Base(dir)+`/?\s*$`).MatchString(p.read(".gitignore"))
}

// has reports whether there is a file that a pattern of package path matches.
func (p project) has(pattern string) bool { return p.first(pattern) != "" }

// first returns the first file that a pattern matches, "" if there is none.
func (p project) first(pattern string) string {
	matches, err := fs.Glob(p.files, pattern)
	if err != nil || len(matches) == 0 {
		return ""
	}
	return matches[0]
}

// read returns the text of a file, "" if it can't be read.
func (p project) read(name string) string {
	data, err := fs.ReadFile(p.files, name)
	if err != nil {
		return ""
	}
	return string(data)
}

// quoted returns a text in HCL.
func quoted(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }

// list returns a list of texts in HCL.
func list(texts ...string) string {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = quoted(t)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// runs returns a step with a command.
func runs(name, comment string, command []string, more ...argument) step {
	return step{name: name, comment: comment, arguments: append([]argument{{"command", list(command...)}}, more...)}
}

// script returns the argument script.
func script(text string) argument {
	if strings.Contains(text, "\n") {
		return argument{"script", "<<-EOT\n" + text + "\nEOT"}
	}
	return argument{"script", quoted(text)}
}

// reads returns the argument inputs.
func reads(globs ...string) argument { return argument{"inputs", list(globs...)} }

// makes returns the argument artifacts.
func makes(globs ...string) argument { return argument{"artifacts", list(globs...)} }

// pure returns the argument that says that a step changes nothing but its artifacts.
func pure() argument { return argument{"effect", quoted("pure")} }

// Pipeline writes the pipeline for the kinds that were found.
func Pipeline(id, title string, found []Found) []byte {
	var b strings.Builder
	var what []string
	for _, f := range found {
		what = append(what, fmt.Sprintf("%s (%s)", f.Title, f.File))
	}
	fmt.Fprintf(&b, `# The pipeline of %[1]s, for %[2]s. Read it, and change what does not fit.
#
#   runner build %[1]s            runs it
#   runner build %[1]s --resume   goes on after a failure, a pause or a kill, and runs what has changed
#   runner plan %[1]s --resume    says what that would be, and why
#
# A workstream runs again when one of its inputs has changed, or its command. "runner help concepts" says more.

pipeline %[3]s {
  title = %[4]s
`, id, strings.Join(what, ", "), quoted(id), quoted(title))
	for _, p := range joined(found) {
		p.write(&b)
	}
	b.WriteString(`
  # This phase would ask a person before something is published, and then publish it once.
  # phase "publish" {
  #   workstream "release" {
  #     command = ["./publish.sh"]
  #     effect  = "once" # never repeated by itself
  #   }
  # }
  #
  # The gate that asks belongs to the phase before:
  #   gate "sign-off" {
  #     approval { message = "Publish?" }
  #   }
}
`)
	return pipeline.Format([]byte(b.String()))
}

// joined returns the phases of all kinds, those of the same name as one.
func joined(found []Found) []phase {
	var all []phase
	for _, f := range found {
		for _, p := range f.phases {
			i := slices.IndexFunc(all, func(other phase) bool { return other.name == p.name })
			if i < 0 {
				all = append(all, p)
				continue
			}
			all[i].steps = append(all[i].steps, p.steps...)
			all[i].gates = append(all[i].gates, p.gates...)
		}
	}
	order := []string{"install", "check", "test", "build", "image", "infrastructure"}
	slices.SortStableFunc(all, func(a, b phase) int { return slices.Index(order, a.name) - slices.Index(order, b.name) })
	return all
}

// Workstreams returns the names of the workstreams of a pipeline, in their order.
func Workstreams(found []Found) (names []string) {
	for _, p := range joined(found) {
		for _, s := range p.steps {
			names = append(names, s.name)
		}
	}
	return names
}

func (p phase) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n  # %s\n  phase %s {\n", p.comment, quoted(p.name))
	for i, s := range p.steps {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "    # %s\n    workstream %s {\n", s.comment, quoted(s.name))
		for _, a := range s.arguments {
			fmt.Fprintf(b, "      %s = %s\n", a.name, a.value)
		}
		for _, block := range s.blocks {
			fmt.Fprintf(b, "\n      %s\n", block)
		}
		b.WriteString("    }\n")
	}
	for _, g := range p.gates {
		fmt.Fprintf(b, "\n    %s\n", g)
	}
	b.WriteString("  }\n")
}
