package show

import (
	"fmt"
	"io"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/transfer"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Exported shows what an archive holds, and the command that imports it.
func Exported(w io.Writer, cmdline advice.CommandLine, st *state.State, done *transfer.Exported) error {
	archive, from := "standard output", "FILE"
	if done.Path != "" {
		archive, from = cmdline.Display(done.Path), text.ShellWord(done.Path)
	}
	b := newPage(w)
	b.title("✓", "Exported "+done.PRD)
	b.facts(fact("Archive", archive), fact("Size", info.Size(done.Size)), fact("Hash", "sha256:"+done.SHA256))
	b.heading("Contains")
	fmt.Fprintf(b, "- Journal, up to commit %d\n- Manifest and PRD document\n- %s\n", done.Seq, view.Plural(done.Checkpoints, "checkpoint"))
	fmt.Fprintf(b, "- Rollback history: %s\n- Files: %s (%s)\n", view.Plural(done.Rollbacks, "rollback"), view.Plural(done.Objects, "object"), info.Size(done.ObjectBytes))
	if done.Logs > 0 {
		fmt.Fprintf(b, "- %s\n", view.Plural(done.Logs, "log"))
	}
	if len(done.FromFiles) > 0 {
		fmt.Fprintf(b, "\nTaken from the workspace, because the stored bytes are lost or damaged; `%s` repairs that:\n", cmdline.Command("checkpoint rebuild "+done.PRD))
		writePaths(b, "-", state.Texts(done.FromFiles))
	}
	writeLacking(b, done.Lacking)
	if len(done.LeftOut) > 0 {
		b.WriteString("\nNot in the archive, because they look sensitive; copy them yourself:\n")
		writePaths(b, "-", state.Texts(done.LeftOut))
	}
	b.heading("To restore, in any directory")
	b.Printf("  runner checkpoint import %s\n", from)
	for _, s := range advice.Resume(st, "", "") {
		fmt.Fprintf(b, "  runner %s\n", s.Command)
	}
	return b.end()
}

// writeLacking lists the first files that an archive lacks.
func writeLacking(b *page, lacking []transfer.Lacking) {
	const most = 20
	if len(lacking) == 0 {
		return
	}
	fmt.Fprintf(b, "\n! Not in the archive, because the bytes are lost:\n")
	for i, l := range lacking {
		if i == most {
			fmt.Fprintf(b, "  … and %d more (--json lists all)\n", len(lacking)-most)
			return
		}
		fmt.Fprintf(b, "  - %s: %s\n", view.OneLine(string(l.What)), view.OneLine(string(l.Reason)))
	}
}

// shownID returns an id or another word from an archive, safe to show.
func shownID(id string) string { return view.OneLine(id) }

// writePaths lists the first of some paths.
func writePaths(b *page, mark string, paths []state.Text) {
	const most = 20
	for n, path := range paths {
		if n == most {
			fmt.Fprintf(b, "    … and %d more\n", len(paths)-most)
			return
		}
		fmt.Fprintf(b, "    %s %s\n", mark, shownID(string(path)))
	}
}
