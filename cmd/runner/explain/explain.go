// Package explain has the texts of `runner explain`: one for each diagnostic of the language,
// exit code, decision of a plan, status, word of a screen, outcome of an attempt and trigger of a checkpoint.
//
// The texts are files of simple markup in the directory texts. They are compiled into the
// program as they are, and cost nothing until they are read. A heading of the second
// level names what its text is about; it may name several, and a * in a name stands for
// anything. The first paragraph is the headline of the Topic. A fenced block is a part of a pipeline, and
// its info string says which part, as in pipeline/SPEC.md: a test loads each.
//
// What a text says belongs here. How it is printed is package show, and what the messages
// themselves say is decided where a mistake is found. Where to begin: Find and Topics.
package explain

import (
	"embed"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

//go:embed texts/*.md
var texts embed.FS

// Kind is what a topic is about.
type Kind string

// The kinds of topic.
const (
	ExitCode   Kind = "exit code"
	Decision   Kind = "decision"
	Status     Kind = "status"
	Word       Kind = "word" // of a screen: the name of a column, or of a fact
	Outcome    Kind = "outcome"
	Trigger    Kind = "trigger"
	Diagnostic Kind = "diagnostic"
)

// Section is a list of topics with a heading.
type Section struct {
	Heading string
	Kind    Kind
	Topics  []Topic
}

// Topic is the text about one or more names.
type Topic struct {
	Kind     Kind
	Names    []string // a * stands for anything
	Headline string   // the first paragraph, in one line
	Body     string   // the rest, as Markdown
}

// match returns the length of the longest of the topic's names that match, 0 if none does. A
// name that is equal counts as longer than any with a *. Names have none of the special
// characters of path.Match but *.
func (t Topic) match(name string) int {
	longest := 0
	for _, pattern := range t.Names {
		switch matched, err := path.Match(pattern, name); {
		case pattern == name:
			return math.MaxInt
		case matched && err == nil:
			longest = max(longest, len(pattern))
		}
	}
	return longest
}

// Sections returns all topics, in the order in which they are listed.
func Sections() ([]Section, error) {
	var sections []Section
	for _, file := range []struct {
		name string
		kind Kind
	}{
		{"exit_codes", ExitCode}, {"decisions", Decision}, {"statuses", Status}, {"words", Word}, {"outcomes", Outcome}, {"triggers", Trigger},
		{"language", Diagnostic}, {"syntax", Diagnostic},
	} {
		text, err := texts.ReadFile("texts/" + file.name + ".md")
		if err != nil {
			return nil, fmt.Errorf("explain: %w", err)
		}
		sections = append(sections, parse(string(text), file.kind))
	}
	return sections, nil
}

// parse reads a file of texts.
func parse(text string, kind Kind) Section {
	heading, rest, _ := strings.Cut(text, "\n")
	s := Section{Heading: strings.TrimPrefix(heading, "# "), Kind: kind}
	for _, part := range strings.Split(rest, "\n## ")[1:] {
		names, content, _ := strings.Cut(part, "\n")
		headline, body, _ := strings.Cut(strings.TrimSpace(content), "\n\n")
		s.Topics = append(s.Topics, Topic{
			Kind: kind, Names: strings.Split(names, ", "),
			Headline: strings.Join(strings.Fields(headline), " "), Body: strings.Trim(body, "\n"), // it may begin with code, which is indented
		})
	}
	return s
}

// Find returns the topics about a name, one of each kind: a word may have several senses. Of
// several names with a * that match, the longest counts.
func Find(sections []Section, name string) []Topic {
	var found []Topic
	longest := map[Kind]int{}
	for _, s := range sections {
		for _, t := range s.Topics {
			length := t.match(name)
			if length <= longest[t.Kind] {
				continue
			}
			longest[t.Kind] = length
			found = slices.DeleteFunc(found, func(other Topic) bool { return other.Kind == t.Kind })
			found = append(found, t)
		}
	}
	return found
}

// Names returns all names that can be looked up, without those with a *.
func Names(sections []Section) []string {
	var names []string
	for _, s := range sections {
		for _, t := range s.Topics {
			for _, name := range t.Names {
				if !strings.Contains(name, "*") && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
