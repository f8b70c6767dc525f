package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// ExchangeExport is what `checkpoint export --format --json` prints.
type ExchangeExport struct {
	FormatVersion string     `json:"format_version"`
	PRD           string     `json:"prd"`
	Session       string     `json:"session"`
	Seq           uint64     `json:"seq"`
	Format        string     `json:"format"`
	Path          state.Text `json:"path"`
	Files         int        `json:"files"`
	NoPlace       []string   `json:"no_place"` // what the session has and the format can't hold
}

// NewExchangeExport returns the JSON form of an export in the format of another tool.
func NewExchangeExport(st *state.State, format, path string, done *exchange.Exported) ExchangeExport {
	return ExchangeExport{
		FormatVersion: FormatVersion, PRD: st.PRD, Session: st.Session, Seq: st.Seq, Format: format, Path: state.Text(path), Files: done.Files, NoPlace: done.NoPlace,
	}
}

// ExchangeExported shows an export in the format of another tool.
func ExchangeExported(w io.Writer, cmdline advice.CommandLine, r ExchangeExport) error {
	b := newPage(w)
	fmt.Fprintf(b, "✓ Exported %s as %s: %s (%s)\n", r.PRD, r.Format, cmdline.Display(string(r.Path)), view.Plural(r.Files, "file"))
	writeNoPlace(b, "The format has no place for:", r.NoPlace)
	b.WriteString("\nTo begin a session from it elsewhere:\n")
	advice.WriteSuggestions(b, cmdline, advice.Suggest(fmt.Sprintf("checkpoint import --format %s --prd %s %s", r.Format, r.PRD, text.ShellWord(string(r.Path))), "makes a PRD document of it"))
	return b.end()
}

func writeNoPlace(b *page, title string, list []string) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n" + title + "\n")
	for _, what := range list {
		fmt.Fprintf(b, "- %s\n", view.OneLine(what))
	}
}

// ExchangeImport is what `checkpoint import --format --json` prints.
type ExchangeImport struct {
	FormatVersion string        `json:"format_version"`
	PRD           string        `json:"prd"`
	Format        string        `json:"format"`
	DryRun        bool          `json:"dry_run"`
	Files         []state.Text  `json:"files"`    // that were read
	Path          state.Text    `json:"path"`     // of the document
	Document      document.File `json:"document"` // from which the next build begins
	NoPlace       []string      `json:"no_place"` // what the files have and a session can't hold
	Warnings      []string      `json:"warnings"`
}

// NewExchangeImport returns the JSON form of an import from the format of another tool.
func NewExchangeImport(format, path string, dryRun bool, taken *exchange.Taken) ExchangeImport {
	return ExchangeImport{
		FormatVersion: FormatVersion, PRD: taken.Document.PRD, Format: format, DryRun: dryRun, Files: state.Texts(taken.Files), Path: state.Text(path),
		Document: taken.Document, NoPlace: append([]string{}, taken.NoPlace...), Warnings: append([]string{}, taken.Warnings...),
	}
}

// ExchangeImported shows an import from the format of another tool. build is the command
// that begins the session.
func ExchangeImported(w io.Writer, cmdline advice.CommandLine, r ExchangeImport, build string) error {
	b := newPage(w)
	d := r.Document
	done := "✓ Imported"
	if r.DryRun {
		done = "Would import"
	}
	fmt.Fprintf(b, "%s %s from %s: %s\n", done, r.PRD, r.Format, cmdline.Display(string(r.Path)))
	fmt.Fprintf(b, "  Status: %s\n", d.Status)
	fmt.Fprintf(b, "  Completed: %s\n", nameList(d.Completed))
	if len(d.InProgress) > 0 {
		fmt.Fprintf(b, "  In progress: %s\n", nameList(d.InProgress))
	}
	fmt.Fprintf(b, "  Pending: %s\n", nameList(d.Pending))
	if n := len(d.GatesPending); n > 0 {
		fmt.Fprintf(b, "  Gates to judge: %d\n", n)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(b, "Warning: %s\n", view.OneLine(warning))
	}
	writeNoPlace(b, "A session has no place for:", r.NoPlace)
	if !r.DryRun {
		b.WriteString("\nNext:\n")
		advice.WriteSuggestions(b, cmdline,
			advice.Suggest("plan"+strings.TrimPrefix(build, "build")+" --resume", "shows what will run and why"),
			advice.Suggest(build+" --resume", "begins a session from the document"))
	}
	return b.end()
}

func nameList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return view.OneLine(strings.Join(names, ", "))
}
