package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// ExchangeExported shows an export in the format of another tool.
func ExchangeExported(w io.Writer, cmdline advice.CommandLine, r info.ExchangeExport) error {
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

// ExchangeImported shows an import from the format of another tool. build is the command
// that begins the session.
func ExchangeImported(w io.Writer, cmdline advice.CommandLine, r info.ExchangeImport, build string) error {
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
