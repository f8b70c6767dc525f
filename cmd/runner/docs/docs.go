// Package docs is the manual of Runner, which `runner help TOPIC` prints and `runner serve` shows: a tutorial, pages
// about concepts, guides for single tasks, and references.
//
// The pages are Markdown files of this directory, compiled into the program as they are. A fenced block whose info
// string ends with a file name is that file. A block of the kind "console" has commands after "$ ", and below each what it
// prints. A test writes the files and runs the commands of each page in an empty directory. A block "hcl in pipeline" is a
// part of a pipeline, as in pipeline/SPEC.md. A test makes reference.md from the commands and settings.
//
// How pages are printed is package show, and how they become HTML is package page. Where to begin: Groups and Find.
package docs

import (
	"embed"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

//go:embed *.md
var files embed.FS

// Group is a list of pages with a heading.
type Group struct {
	Heading string
	Pages   []Page
}

// Page is a page of the manual.
type Page struct {
	Name    string // what `runner help` is given
	Summary string // what the page is about, in a few words
}

// Groups returns all pages, in the order in which someone would read them.
func Groups() []Group {
	return []Group{
		{"Learn", []Page{
			{"tutorial", "A first pipeline: a failure, a resume, an approval, the way back"},
			{"concepts", "Pipelines, sessions, and what makes work run again"},
			{"durability", "Checkpoints, files, and what survives a kill"},
			{"terminal", "What a run shows, its keys, and looking at a run from elsewhere"},
		}},
		{"Solve a task", []Page{
			{"ci", "Run a pipeline in CI, with its state, reports and traces"},
			{"agents", "Drive coding agents: tasks, feedback, reviews, budgets"},
			{"databases", "Change a database and take it back if that fails"},
			{"monorepo", "Build the packages of a repository that an edit touches"},
			{"scatter", "Split work into parts that are found out, and gather their results"},
			{"approvals", "Ask people, and be sure of what they approved"},
			{"secrets", "Use tokens and passwords without writing them anywhere"},
			{"recovery", "Find out what went wrong, and go back"},
			{"migrating", "Come from make, task, dagu, Snakemake and others"},
			{"operating", "Settings, disk, retention, backups, upgrades"},
			{"editors", "Set up an editor for pipelines"},
		}},
		{"Look up", []Page{
			{"reference", "Every command, flag, setting and exit code"},
			{"language", "The language of pipelines"},
			{"format", "Every file that Runner writes"},
			{"comparison", "Runner and other tools"},
		}},
	}
}

// Find returns the text of a page as Markdown.
func Find(name string) (text string, ok bool) {
	switch name {
	case "language":
		return pipeline.Spec(), true
	case "format":
		return checkpoint.Format(), true
	}
	if strings.ContainsAny(name, "/.") {
		return "", false
	}
	data, err := files.ReadFile(name + ".md")
	return string(data), err == nil
}
