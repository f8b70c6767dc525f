package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/runner/view"
)

type checkpointShowOptions struct {
	prd       string
	reference string
	json      bool
}

func newCheckpointShowCommand(env *environment) *cobra.Command {
	o := checkpointShowOptions{reference: "latest"}
	cmd := &cobra.Command{
		Use:   "show PRD [CHECKPOINT]",
		Short: "Show what a checkpoint holds",
		Long: `Show prints what a checkpoint holds: the latest one, or the one that is named by
its id, the beginning of its id, latest, latest~N, or the number of a step.`,
		Example: `  runner checkpoint show PRD-009 latest~1`,
		Args:    arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			if len(args) > 1 {
				o.reference = args[1]
			}
			return runCheckpointShow(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runCheckpointShow(_ context.Context, env *environment, o checkpointShowOptions) error {
	store, st, err := openSession(env, o.prd)
	if err != nil {
		return err
	}
	ref, err := st.FindCheckpoint(o.reference)
	if err != nil {
		return withHint(usageErrorf("find checkpoint %q of %s: %w", o.reference, st.PRD, err),
			fmt.Sprintf("`runner checkpoint list %s` lists them", st.PRD))
	}
	file, err := store.ReadCheckpoint(st.PRD, ref.ID)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(env.stdout, file)
	}
	return writeCheckpoint(env.stdout, ref, file)
}

func writeCheckpoint(w io.Writer, ref *checkpoint.CheckpointRef, f *checkpoint.CheckpointFile) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nCHECKPOINT DETAILS: %s\n%s\n\n", rule, f.ID, rule)
	fmt.Fprintf(&b, "Step: %s\n", step(ref))
	fmt.Fprintf(&b, "Created: %s\n", f.CreatedAt.UTC().Format(time.DateTime))
	fmt.Fprintf(&b, "Trigger: %s\n", f.Trigger)
	if f.Reason != "" {
		fmt.Fprintf(&b, "Reason: %s\n", view.OneLine(string(f.Reason)))
	}
	writeSection(&b, "STATE", stateLines(f))
	writeSection(&b, "METRICS", metricLines(f.State))
	writeSection(&b, "OUTPUTS", outputLines(f.State))
	writeSection(&b, "FILES", fileLines(f.Files))
	writeSection(&b, "GIT", gitLines(f.Git))
	writeSection(&b, "RECOVERY", recoveryLines(f.Recovery))
	valid := "✗ (a rollback went back before it)"
	if ref.Valid {
		valid = "✓"
	}
	writeSection(&b, "VALIDATION", []string{"Checksum: " + checksum(f), "Valid: " + valid})
	b.WriteString(rule + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func checksum(f *checkpoint.CheckpointFile) string {
	if f.Checksum == "" {
		return "none yet: its file is written with the next checkpoint that has to be"
	}
	return f.Checksum
}

func writeSection(b *strings.Builder, title string, lines []string) {
	fmt.Fprintf(b, "\n%s:\n", title)
	if len(lines) == 0 {
		b.WriteString("- none\n")
	}
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", view.OneLine(line))
	}
}

func stateLines(f *checkpoint.CheckpointFile) []string {
	st := f.State
	lines := []string{
		"Session: " + f.Session,
		fmt.Sprintf("Sequence: %d", f.Seq),
		"Status: " + string(st.Status),
		fmt.Sprintf("Phase: %s (%d of %d)", f.Phase, st.CurrentPhase, len(st.Phases)),
		fmt.Sprintf("Resumes: %d", st.Resumes),
	}
	counts := map[checkpoint.StepStatus]int{}
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			counts[w.Status]++
		}
	}
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("Workstreams %s: %d", status, counts[status]))
	}
	if st.Error != nil {
		lines = append(lines, "Error: "+view.Summary(*st.Error))
	}
	return lines
}

func metricLines(st *checkpoint.State) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(st.Metrics)) {
		lines = append(lines, fmt.Sprintf("%s: %v", name, st.Metrics[name].Value))
	}
	return lines
}

func outputLines(st *checkpoint.State) []string {
	var lines []string
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			if len(w.Artifacts) > 0 {
				lines = append(lines, fmt.Sprintf("%s: %s", w.Name, files(len(w.Artifacts))))
			}
			for _, name := range slices.Sorted(maps.Keys(w.Outputs)) {
				lines = append(lines, fmt.Sprintf("%s %s: %s", w.Name, name, w.Outputs[name]))
			}
		}
	}
	return lines
}

// fileLines counts the files that changed since the checkpoint before, and
// names the first of them.
func fileLines(f checkpoint.Files) []string {
	named := func(title string, paths []checkpoint.Text) []string {
		const most = 20
		lines := []string{fmt.Sprintf("%s: %d", title, len(paths))}
		for i, path := range paths {
			if i == most {
				return append(lines, fmt.Sprintf("  … and %d more", len(paths)-most))
			}
			lines = append(lines, "  "+string(path))
		}
		return lines
	}
	return append(named("Created", f.Created), named("Modified", f.Modified)...)
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

func gitLines(g *checkpoint.Git) []string {
	if g == nil {
		return nil
	}
	branch := g.Branch
	if branch == "" {
		branch = "(detached)"
	}
	return []string{"Branch: " + branch, "Commit: " + g.Commit}
}

func recoveryLines(r checkpoint.Recovery) []string {
	lines := []string{fmt.Sprintf("Can resume: %v", r.CanResume)}
	if r.ResumeFrom != "" {
		lines = append(lines, "Resume from: "+r.ResumeFrom)
	}
	for _, warning := range r.Warnings {
		lines = append(lines, "Warning: "+warning)
	}
	return lines
}
